import { spawnSync } from 'node:child_process';
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
