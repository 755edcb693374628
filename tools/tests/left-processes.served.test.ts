import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { endLeftProcesses, RUN_VARIABLE } from './left-processes.ts';

async function started(dir: string, command: string) {
  const env = { PATH: process.env['PATH'], [RUN_VARIABLE]: dir };
  // As a daemon: of another group, and not of this process's children any more.
  const child = spawn('/bin/sh', ['-c', command], { env, detached: true, stdio: 'ignore' });
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  return { child, ended };
}

test('what a run has started is ended, with what that started; what another has is not', async () => {
  const own = await started('/tmp/run-1', 'sleep 1000 & sleep 1000');
  const other = await started('/tmp/run-10', 'exec sleep 1000');
  expect(await endLeftProcesses('/tmp/run-1')).toBeGreaterThanOrEqual(1);
  expect(await own.ended).toEqual([null, 'SIGKILL']);
  expect(await endLeftProcesses('/tmp/run-1')).toBe(0);
  expect(other.child.exitCode).toBe(null);
  expect(await endLeftProcesses('/tmp/run-10')).toBe(1);
  expect(await other.ended).toEqual([null, 'SIGKILL']);
});
