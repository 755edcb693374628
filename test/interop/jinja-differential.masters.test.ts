import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { saltVenv } from '@brine/testing';
import { expect, test } from 'vitest';
import { fixture, snippetContext, snippets } from '../../libs/jinja/test/snippets.ts';

const RECORDER = new URL('../fixtures/jinja/record.py', import.meta.url).pathname;

// The unit tests of libs/jinja hold Brine against the same record.
test('Salt 3008.2 still renders the snippets as recorded', async () => {
  const venv = await saltVenv('3008.2');
  const running = promisify(execFile)(venv.python, [RECORDER], {
    env: { ...process.env, TZ: 'UTC' },
    maxBuffer: 16 * 1024 * 1024,
  });
  const given = { ...snippetContext(), snippets: Object.fromEntries(snippets()) };
  running.child.stdin?.end(JSON.stringify(given));
  const { stdout } = await running;
  expect(JSON.parse(stdout)).toEqual(JSON.parse(fixture('results.json')));
}, 300_000);
