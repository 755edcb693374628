import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('a run that is ended says what had failed, and which test had not ended', async () => {
  // vitest leaves a directory of its own there where it is killed.
  const dir = mkdtempSync(join(tmpdir(), 'brine-unended-'));
  onTestFinished(() => {
    rmSync(dir, { recursive: true });
  });
  const args = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config=test/layers/failing/vitest.config.ts',
    '--reporter=default',
    '--reporter=./test/layers/unended-tests.mjs',
    'unended',
  ];
  const vitest = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, TMPDIR: dir },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  // The process of its tests outlives it.
  onTestFinished(() => void process.kill(-(vitest.pid ?? NaN), 'SIGKILL'));
  let output = '';
  const read = (chunk: Buffer) => {
    output += stripVTControlCharacters(String(chunk));
    if (output.includes('the test that never ends has begun')) vitest.kill('SIGTERM');
  };
  vitest.stdout.on('data', read);
  vitest.stderr.on('data', read);
  const [code] = (await once(vitest, 'close')) as [number | null];
  const file = 'test/layers/failing/unended.failing.ts';
  expect(output).toContain(`FAILED ${file} > fails at once\n`);
  expect(output).toContain(`NOT ENDED ${file} > never ends\n`);
  expect(code).not.toBe(0);
});
