import { execFile } from 'node:child_process';
import { chmod, cp, lstat, mkdtemp, rm, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { serverAccount } from './account.ts';
import { embeddedBinaries, findPackage } from './binaries.ts';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
let dir: string;
let copied: string;

/** A package as npm leaves it where install scripts do not run: without the links. */
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-pg-'));
  await chmod(dir, 0o755);
  copied = join(dir, 'package');
  await cp(findPackage(), copied, { recursive: true, verbatimSymlinks: true });
  await unlink(join(copied, 'native/lib/libicuuc.so.60')).catch(() => undefined); // Never made.
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

test('missing links between the libraries are made', async () => {
  const account = serverAccount(join(dir, 'data'));
  const { postgres } = await embeddedBinaries(dir, account, copied);
  expect(postgres.startsWith(copied)).toBe(true);
  expect((await lstat(join(copied, 'native/lib/libicuuc.so.60'))).isSymbolicLink()).toBe(true);
  expect((await run(postgres, ['--version'])).stdout).toMatch(/^postgres \(PostgreSQL\) 18/);
});

test('programs that the server can not reach are copied once, others are not', async () => {
  await chmod(copied, 0o700);
  const account = serverAccount(join(dir, 'data'));
  const first = await embeddedBinaries(dir, account, copied);
  // A user runs the server itself, and so reaches what is closed to all others.
  const used = isRoot ? join(dir, 'postgresql-18') : copied;
  expect(first.postgres.startsWith(used)).toBe(true);
  const ids = isRoot ? { uid: account.uid, gid: account.gid, cwd: '/' } : { cwd: '/' };
  expect((await run(first.initdb, ['--version'], ids)).stdout).toMatch(/^initdb/);
  expect(await embeddedBinaries(dir, account, copied)).toEqual(first);
});
