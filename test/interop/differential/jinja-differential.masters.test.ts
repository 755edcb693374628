import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { newestOf, saltVenv } from '@brine/testing';
import { expect, test } from 'vitest';
import { fixture, rules, snippetContext, snippets } from '../../../libs/jinja/test/snippets.ts';

const RECORDER = new URL('../../fixtures/jinja/record.py', import.meta.url).pathname;

const NAMER = new URL('../../fixtures/jinja/names.py', import.meta.url).pathname;

/** What Salt 3008 makes of templates, by their names. */
async function asked(templates: Readonly<Record<string, string>>): Promise<unknown> {
  const venv = await saltVenv(newestOf('3008'));
  const running = promisify(execFile)(venv.python, [RECORDER], {
    env: { ...process.env, TZ: 'UTC' },
    maxBuffer: 16 * 1024 * 1024,
  });
  running.child.stdin?.end(JSON.stringify({ ...snippetContext(), snippets: templates }));
  const { stdout } = await running;
  return JSON.parse(stdout);
}

// The unit tests of libs/jinja hold Brine against the same records.
test('Salt 3008 still renders the snippets as recorded', async () => {
  expect(await asked(Object.fromEntries(snippets()))).toEqual(JSON.parse(fixture('results.json')));
}, 300_000);

test('Salt 3008 still has the names as recorded', async () => {
  const { python } = await saltVenv(newestOf('3008'));
  const { stdout } = await promisify(execFile)(python, [NAMER]);
  expect(JSON.parse(stdout)).toEqual(JSON.parse(fixture('names.json')));
}, 300_000);

test('Salt 3008 still keeps the rules as recorded', async () => {
  const all = [...rules()].flatMap(([subject, rows]) =>
    rows.map(({ rule, template, result }) => ({ name: `${subject}: ${rule}`, template, result })),
  );
  const templates = Object.fromEntries(all.map(({ name, template }) => [name, template]));
  const recorded = Object.fromEntries(all.map(({ name, result }) => [name, result]));
  expect(await asked(templates)).toEqual(recorded);
}, 300_000);
