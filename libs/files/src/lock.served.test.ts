import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isLocked, lockUntilRemoved, withLock } from './lock.ts';

let path = '';
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'brine-lock-')), 'below', 'x.lk');
});
afterEach(() => rmSync(join(path, '..', '..'), { recursive: true, force: true }));

const locked = (): Promise<string | undefined> => withLock(path, () => Promise.resolve('done'));

/** No process has this id: it is above the largest of Linux. */
const DEAD = 4_194_305;

function leave(owner: string | number, host = hostname()): void {
  writeFileSync(path, `${owner} ${host}\n`);
}

test('a lock keeps others out, and is removed at the end', async () => {
  expect(await withLock(path, () => locked().then((inner) => [inner]))).toEqual([undefined]);
  expect(existsSync(path)).toBe(false);
  await expect(withLock(path, () => Promise.reject(new Error('it failed')))).rejects.toThrow();
  expect(await locked()).toBe('done');
});

test('a lock of a dead process of this host does not count, one of another host does', async () => {
  await locked();
  leave(process.pid);
  expect(await locked()).toBeUndefined();
  leave(DEAD, 'another');
  expect(await locked()).toBeUndefined();
  utimesSync(path, 0, new Date(Date.now() - 16 * 60_000));
  expect(await locked()).toBe('done');
  leave(DEAD);
  expect(await locked()).toBe('done');
  writeFileSync(path, '');
  expect(await locked()).toBeUndefined();
});

test("an operator's lock stays, however old", async () => {
  expect(await isLocked(path)).toBe(false);
  expect(await lockUntilRemoved(path)).toBe(true);
  expect(await lockUntilRemoved(path)).toBe(false);
  utimesSync(path, 0, 0);
  expect(await locked()).toBeUndefined();
  expect(await isLocked(path)).toBe(true);
});
