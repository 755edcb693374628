import { spawn } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isOfOwner, writePidfile } from './state-file.ts';

const isRoot = process.getuid?.() === 0;

test('a file of another user names no process of root, one of root names any', (context) => {
  if (!isRoot) return context.skip('this is not root');
  const dir = mkdtempSync(join(tmpdir(), 'brine-owner-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, 'pid');
  writePidfile(path);
  expect(isOfOwner(path, process.pid)).toBe(true);
  chownSync(path, 4711, 4711);
  expect(isOfOwner(path, process.pid)).toBe(false);
  const child = spawn('sleep', ['60'], { uid: 4711, gid: 4711 });
  try {
    expect(isOfOwner(path, child.pid ?? 0)).toBe(true);
    chownSync(path, 4712, 4712);
    expect(isOfOwner(path, child.pid ?? 0)).toBe(false);
    chownSync(path, 0, 0);
    expect(isOfOwner(path, child.pid ?? 0)).toBe(true);
  } finally {
    child.kill();
  }
});
