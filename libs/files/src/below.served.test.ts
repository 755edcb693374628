import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  findBelow,
  readBelow,
  removeBelow,
  removeEmptyBelow,
  treeBelow,
  writeBelow,
} from './below.ts';

let dir: string;
let root: string;

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'brine-below-')));
  root = join(dir, 'root');
  mkdirSync(join(root, 'sub'), { recursive: true });
  writeFileSync(join(root, 'a.sls'), 'a: 1\n');
  writeFileSync(join(dir, 'secret'), 'secret');
});

afterEach(() => rmSync(dir, { recursive: true }));

test('a file is found below its root only, whatever its path or a link says', async () => {
  symlinkSync(join(dir, 'secret'), join(root, 'out'));
  symlinkSync('a.sls', join(root, 'in'));
  symlinkSync(dir, join(root, 'sub', 'up'));
  expect(await findBelow(root, 'a.sls')).toBe(join(root, 'a.sls'));
  expect(await findBelow(root, 'in')).toBe(join(root, 'a.sls'));
  const others = ['../secret', 'out', 'sub/up/secret', '/etc/passwd', 'sub', 'no', 'a.sls/x', '\0'];
  for (const path of others) {
    expect([path, await findBelow(root, path)]).toEqual([path, undefined]);
  }
});

test('a file that is larger than allowed is not read, its head is', async () => {
  writeFileSync(join(root, 'big'), 'x'.repeat(100));
  await expect(readBelow(root, 'big', { maxBytes: 99 })).rejects.toThrow('more than 99 bytes');
  expect((await readBelow(root, 'big', { maxBytes: 100 }))?.length).toBe(100);
  expect(String(await readBelow(root, 'big', { maxBytes: 9, headBytes: 3 }))).toBe('xxx');
  const large = 'y'.repeat(200_000);
  writeFileSync(join(root, 'large'), large);
  expect(String(await readBelow(root, 'large', { maxBytes: 200_000 }))).toBe(large);
});

test('a tree names links and does not follow them, and has a bound', async () => {
  symlinkSync(root, join(root, 'sub', 'loop'));
  const tree = await treeBelow(root, 10);
  expect(tree).toEqual(
    new Map<string, unknown>([
      ['a.sls', 'f'],
      ['sub', new Map([['loop', new Map()]])],
    ]),
  );
  await expect(treeBelow(root, 2)).rejects.toThrow('more than 2 entries');
  expect(await treeBelow(join(root, 'none'), 2)).toEqual(new Map());
});

test('a write makes directories, keeps a mode, and says when nothing changes', async () => {
  expect(await writeBelow(root, 'x/y/z.sls', 'z')).toBe('written');
  expect(readFileSync(join(root, 'x/y/z.sls'), 'utf8')).toBe('z');
  writeFileSync(join(root, 'mode'), 'old', { mode: 0o600 });
  expect(await writeBelow(root, 'mode', 'new')).toBe('written');
  expect(statSync(join(root, 'mode')).mode & 0o777).toBe(0o600);
  expect(await writeBelow(root, 'mode', 'new')).toBe('same');
});

test('a write through a link, onto a directory or out of the root is refused', async () => {
  symlinkSync(join(dir, 'secret'), join(root, 'out'));
  symlinkSync(dir, join(root, 'up'));
  const paths = ['../secret', 'sub/../../secret', '/tmp/x', 'out', 'up/secret', 'up/new', 'sub'];
  for (const path of [...paths, '', 'a.sls/x', 'sub/', 'x\0y', '.']) {
    expect([path, await writeBelow(root, path, 'bad')]).toEqual([path, 'refused']);
  }
  expect(readFileSync(join(dir, 'secret'), 'utf8')).toBe('secret');
  expect(await removeBelow(root, 'up/secret')).toBe(false);
  expect(await removeBelow(root, '../secret')).toBe(false);
});

test('empty directories go, and those with a file stay', async () => {
  mkdirSync(join(root, 'sub', 'deeper'));
  expect(await removeEmptyBelow(root)).toBe(true);
  expect([...(await treeBelow(root, 10)).keys()]).toEqual(['a.sls']);
  expect(await removeBelow(root, 'a.sls')).toBe(true);
  expect(await removeEmptyBelow(root)).toBe(true);
  await expect(async () => statSync(root)).rejects.toThrow('ENOENT');
});
