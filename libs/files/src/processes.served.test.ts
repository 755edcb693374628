import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isAlive } from './processes.ts';

test('this process and its parent are alive', () => {
  expect(isAlive(process.pid)).toBe(true);
  expect(isAlive(process.ppid)).toBe(true);
});

test('a process that has ended is not alive', async () => {
  const child = spawn(process.execPath, ['-e', ''], { env: {} });
  await once(child, 'exit');
  expect(isAlive(child.pid ?? 0)).toBe(false);
});

test('a process whose parent did not ask for its exit code has ended all the same', async () => {
  // A shell that becomes another program never asks for its children.
  const parent = spawn('/bin/sh', ['-c', 'true & echo $!; exec sleep 60'], {
    env: {},
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'utf8')).toMatch(/\) Z /);
    expect(isAlive(pid)).toBe(false);
  } finally {
    parent.kill('SIGKILL');
  }
});

test('what is no number of a process is not alive', () => {
  for (const pid of [0, -1, 1.5, NaN]) expect(isAlive(pid)).toBe(false);
});
