import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Uploads } from './uploads.ts';

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-received-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const filesOf = (id: string): string => join(dir, 'minions', id, 'files');

test('pieces make the file, also when one comes twice; a first piece begins it again', async () => {
  const files = new Uploads(dir);
  const path = ['var', 'log', 'x'];
  const send = (loc: number, text: string): Promise<boolean> =>
    files.write({ id: 'web1', path, loc, data: Buffer.from(text) });
  const content = (): Promise<string> => readFile(join(filesOf('web1'), 'var/log/x'), 'utf8');
  expect([await send(0, 'one,'), await send(4, 'two'), await send(4, 'two')]).toEqual([
    true,
    true,
    true,
  ]);
  expect(await content()).toBe('one,two');
  await send(0, 'new');
  expect(await content()).toBe('new');
});

test.each([
  [['..', 'other', 'files', 'x']],
  [['a', '..', '..', 'x']],
  [['a/../../x']],
  [['../x']],
  [['/etc/passwd']],
  [['', 'etc', 'passwd']],
  [['a\0b']],
  [['..']],
  [['.']],
  [['']],
  [[]],
  [['dir', '']],
  [['file', 'below']],
  [['out', 'x']],
  [['link']],
  [['x'.repeat(300)]],
  [['sub']],
])('CVE-2024-38824: %j is refused and writes nothing elsewhere', async (path) => {
  await mkdir(join(filesOf('web1'), 'sub'), { recursive: true });
  await writeFile(join(filesOf('web1'), 'file'), 'kept');
  await mkdir(join(dir, 'elsewhere'));
  await writeFile(join(dir, 'target'), 'kept');
  await symlink(join(dir, 'elsewhere'), join(filesOf('web1'), 'out'));
  await symlink(join(dir, 'target'), join(filesOf('web1'), 'link'));
  const files = new Uploads(dir);
  expect(await files.write({ id: 'web1', path, loc: 0, data: Buffer.from('x') })).toBe(false);
  expect(await readFile(join(dir, 'target'), 'utf8')).toBe('kept');
  await expect(readFile(join(dir, 'elsewhere/x'))).rejects.toThrow(/ENOENT/);
  await expect(readFile(join(dir, 'minions/web1/x'))).rejects.toThrow(/ENOENT/);
});

test.each(['', '..', '.', 'a/b', '../x'])('the id %j is refused', async (id) => {
  const files = new Uploads(dir);
  expect(await files.write({ id, path: ['x'], loc: 0, data: Buffer.from('x') })).toBe(false);
});
