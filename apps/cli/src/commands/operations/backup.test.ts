import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { writeMarker } from '@brine/backup/marker';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Printed, printedBy } from '../../printed.fixture.ts';

/** The state directory below the test's. */
const STATE = 'var/cache/salt/master/brine';

let dir: string;
// It loads what opens NATS and PostgreSQL, which takes seconds where nothing is compiled yet.
beforeAll(async () => {
  await import('@brine/backup');
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'backup-'));
  writeFileSync(join(dir, 'master'), `root_dir: ${dir}\nuser: root\n`);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function brine(...args: readonly string[]): Promise<Printed> {
  return printedBy(args);
}

test.each([
  [['backup'], 'give the file, as brine.tar.gz'],
  [['backup', 'a', 'b'], 'unexpected: b'],
  [['backup', 'a', '--speed', '0'], '--speed is at least 1'],
  [['restore'], 'give the file of a backup'],
  [['restore', 'a', '--force'], 'no such option: --force'],
])('%j ends with 64 and says what to do', async (args, text) => {
  const { code, err } = await brine(...args);
  expect(code).toBe(64);
  expect(err).toContain(text);
});

test('a file that is not there, or is none of ours, is refused in one line', async () => {
  const file = join(dir, 'x.tar.gz');
  expect(await brine('restore', file, '-c', dir)).toEqual({
    code: 1,
    out: '',
    err: `brine restore: ENOENT: no such file or directory, open '${file}': check the path\n`,
  });
  for (const bytes of ['', 'text', gzipSync('text'), gzipSync('')]) {
    writeFileSync(file, bytes);
    const { code, err } = await brine('restore', file, '-c', dir);
    expect(code).toBe(1);
    expect(err).toMatch(/^brine restore: .*: it is damaged or cut off \(.*\)\n$/);
  }
});

test('a directory that is not there is named, and nothing is left', async () => {
  for (const name of ['nats', 'postgres']) mkdirSync(join(dir, STATE, name), { recursive: true });
  const { code, err } = await brine('backup', join(dir, 'none', 'x.tar.gz'), '-c', dir);
  expect(code).toBe(1);
  expect(err).toMatch(/^brine backup: ENOENT: .*: check the path\n$/);
  expect(readdirSync(dir)).toEqual(['master', 'var']);
});

test('on a host without a master nothing is made', async () => {
  const { code, err } = await brine('backup', join(dir, 'x.tar.gz'), '-c', dir);
  expect(code).toBe(1);
  const text = `no master has run here: ${dir}/${STATE}/nats is not there. Is -c right?`;
  expect(err).toBe(`brine backup: ${text}\n`);
  expect(readdirSync(dir)).toEqual(['master']);
});

test('where a restore was not ended no backup is made', async () => {
  const marker = { backup: 'b', file: '/b.tar.gz', keepsCertificates: false, done: [] };
  await writeMarker(join(dir, STATE), marker);
  expect(await brine('backup', join(dir, 'x.tar.gz'), '-c', dir)).toMatchObject({
    code: 1,
    err: 'brine backup: the restore of /b.tar.gz is not done: end it first\n',
  });
});
