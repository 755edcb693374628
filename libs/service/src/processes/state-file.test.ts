import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  livingSupervisor,
  readState,
  removePidfile,
  stateFile,
  writePidfile,
} from './state-file.ts';

const isRoot = process.getuid?.() === 0;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-pid-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

test('a pid file holds the number and nothing else, and goes with its process', () => {
  const path = join(dir, 'run', 'salt-master.pid');
  writePidfile(path);
  expect(readFileSync(path, 'utf8')).toBe(String(process.pid));
  removePidfile(path);
  expect(existsSync(path)).toBe(false);
  removePidfile(path);
});

test("another master's stays", () => {
  const path = join(dir, 'pid');
  writeFileSync(path, '1');
  removePidfile(path);
  expect(readFileSync(path, 'utf8')).toBe('1');
});

test('root gives it to the user of the master', (context) => {
  if (!isRoot) return context.skip('this is not root');
  const path = join(dir, 'pid');
  writePidfile(path, { uid: 4711, gid: 4712 });
  const { uid, gid, mode } = statSync(path);
  expect([uid, gid, mode & 0o777]).toEqual([4711, 4712, 0o644]);
});

test('what can not be written leaves nothing beside it', () => {
  const path = join(dir, 'pid');
  mkdirSync(path);
  expect(() => writePidfile(path)).toThrow();
  expect(existsSync(`${path}.${process.pid}.next`)).toBe(false);
});

test.each(['', '{"pid": 1'])('a state of which a power cut left «%s» names no master', (left) => {
  writeFileSync(stateFile(dir), left);
  expect(livingSupervisor(readState(dir))).toBe(undefined);
});
