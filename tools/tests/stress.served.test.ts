import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { endLeftProcesses, RUN_VARIABLE } from './left-processes.ts';
import { ROOT } from './repository.ts';

test('a run beside busy loops ends, and they end with it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'brine-stress-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const program = join(ROOT, 'node_modules', 'tsx', 'dist', 'cli.mjs');
  const words = ['tools/tests/stress.ts', 'tools/tests/verdict.test', '--times', '1'];
  const ran = spawnSync(process.execPath, [program, ...words], {
    cwd: ROOT,
    env: { ...process.env, [RUN_VARIABLE]: dir },
    encoding: 'utf8',
    timeout: 100_000,
    killSignal: 'SIGKILL',
  });
  const left = await endLeftProcesses(dir);
  expect(ran.stdout).toContain('1 of 1 files passed each time');
  expect([ran.signal, left]).toEqual([null, 0]);
}, 120_000);
