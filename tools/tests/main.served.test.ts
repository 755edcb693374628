import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));

interface Run {
  readonly code: number | null;
  readonly output: string;
}

/** Runs `npm test -- …`; `stopAt` ends it by SIGTERM once its output has that text. */
async function run(args: readonly string[], stopAt?: string): Promise<Run> {
  const { BRINE_CIRCLE: _, BRINE_TEST_WORKERS: __, ...env } = process.env;
  const child = spawn(process.execPath, ['--import', 'tsx', MAIN, ...args], {
    env: { ...env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const take = (chunk: Buffer): void => {
    output += String(chunk);
    if (stopAt !== undefined && output.includes(stopAt)) child.kill('SIGTERM');
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

test('a green run ends with what it cost and how many passed, and leaves nothing', async () => {
  const { code, output } = await run(['--only', 'tools/links']);
  expect(output).toMatch(/^\| pure +\| +1 \| +4 \|/m);
  expect(output).toMatch(/\n4 passed, 0 failed\n$/);
  expect(output).not.toContain('FAILED');
  expect(code).toBe(0);
});

test('an unknown word is refused before anything runs', async () => {
  const { code, output } = await run(['mastres']);
  expect(code).toBe(64);
  expect(output).toContain('no such layer or circle: mastres\n');
});

test('a name that no path has is an error, not a green run of nothing', async () => {
  const { code, output } = await run(['--only', 'no-such-file']);
  expect(code).toBe(64);
  expect(output).toContain("no test's path has no-such-file in it\n");
});

test('a run that is ended says so, and its tests end with it', async () => {
  const { code, output } = await run(
    ['pure', '--only', 'libs/wire', '--only', 'libs/jinja'],
    'RUN',
  );
  expect(output).toContain('FAILED the run\n  the run was ended by SIGTERM\n');
  expect(output).toMatch(/\n\d+ passed, 1 failed\n$/);
  expect(code).toBe(1);
  const dir = /reports on masters: (\S+)/.exec(output)?.[1] ?? '';
  onTestFinished(() => rmSync(dir, { recursive: true }));
  expect(existsSync(dir)).toBe(true);
});
