import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { saltVenv } from '@brine/testing';
import { expect, test } from 'vitest';
import { fixture } from '../../libs/pillar/test/trees.ts';

const RECORDER = new URL('../fixtures/pillar/record.py', import.meta.url).pathname;

// The unit tests of libs/pillar hold Brine against the same record.
test('Salt 3008.2 still compiles the pillar trees as recorded', async () => {
  const venv = await saltVenv('3008.2');
  const running = promisify(execFile)(venv.python, [RECORDER], {
    env: { ...process.env, TZ: 'UTC' },
    maxBuffer: 16 * 1024 * 1024,
  });
  running.child.stdin?.end(fixture('trees.json'));
  const { stdout } = await running;
  expect(JSON.parse(stdout)).toEqual(JSON.parse(fixture('results.json')));
}, 900_000);
