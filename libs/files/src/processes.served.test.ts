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
  // A shell that has become another program asks for no child. Its child reads until then.
  const parent = spawn('/bin/sh', ['-c', 'exec 3<&0; read line <&3 & echo $!; exec sleep 60'], {
    env: {},
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  try {
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, 'utf8')).toBe('sleep\n');
    expect(isAlive(pid)).toBe(true);
    parent.stdin.end();
    await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'utf8')).toMatch(/\) Z /);
    expect(isAlive(pid)).toBe(false);
  } finally {
    parent.kill('SIGKILL');
  }
});

test('what is no number of a process is not alive', () => {
  for (const pid of [0, -1, 1.5, NaN]) expect(isAlive(pid)).toBe(false);
});
