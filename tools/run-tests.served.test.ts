import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const RUN_TESTS = fileURLToPath(new URL('./run-tests.mjs', import.meta.url));

test.each([
  [['--keep'], '--keep wants --only NAME'],
  [['--keep', 'masters'], '--keep wants --only NAME'],
  [['--keep=yes', '--only', 'why'], "Option '--keep' does not take an argument"],
  [['--only', '--keep'], "Option '--only' argument is ambiguous"],
  [['pure', 'mastres', '--only', 'why', '--keep'], 'no such layer: mastres'],
])('npm test -- %j is refused: %s', (args, message) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUN_TESTS, ...args]);
  expect([status, String(stdout)]).toEqual([1, '']);
  expect(String(stderr)).toContain(message);
});

test('a run that is ended begins no other layer, and says so', async () => {
  const args = [RUN_TESTS, 'pure', 'masters', '--only', 'tools/links'];
  const run = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  run.stdout.on('data', (chunk: Buffer) => {
    if (output === '') run.kill('SIGTERM');
    output += String(chunk);
  });
  const [code] = (await once(run, 'close')) as [number | null];
  expect(output).toContain('FAILED pure: outside of its tests (exit ');
  expect(output).toContain('FAILED masters: not run, the run was ended by SIGTERM\n');
  expect(output).not.toContain('== masters');
  expect(output).toMatch(/\n0 passed, 2 failed\n$/);
  expect(code).toBe(1);
});
