import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { failureLines } from './failed-states.ts';

function orchestrated(...states: readonly SaltMap[]): SaltMap {
  const ran = new Map(states.map((state, at) => [`state-${at}`, state] as const));
  return mapOf({ data: mapOf({ host_master: ran }), outputter: 'highstate', retcode: 1 });
}

function failed(given: Record<string, SaltValue>): SaltMap {
  return mapOf({ name: 'x', result: false, changes: new Map(), comment: '', ...given });
}

const moved = mapOf({ old: 'a', new: '' });

// What format_log of salt/state.py says of these.
test.each([
  ['no changes', { comment: 'went wrong' }, 'went wrong'],
  ['no comment', {}, 'No changes made for x'],
  ['changes', { changes: mapOf({ out: 'highstate', n: 1 }) }, "{'out': 'highstate', 'n': 1}"],
  ['a diff', { changes: mapOf({ diff: '-a\n+b', n: 1 }) }, 'File changed:\n-a\n+b'],
  [
    'old and new',
    { changes: mapOf({ vim: moved }) },
    "Made the following changes:\n'vim' changed from 'a' to 'absent'\n",
  ],
])('a failed state with %s', (_, state, line) => {
  expect(failureLines(orchestrated(failed(state)))).toEqual([{ level: 'ERROR', text: line }]);
});

test('states that are well, or did not run, have no line; the order is that of the run', () => {
  const value = orchestrated(
    failed({ comment: 'second', __run_num__: 3 }),
    failed({ comment: 'first', __run_num__: 1 }),
    mapOf({ name: 'well', result: true, changes: new Map(), comment: 'Success!' }),
    failed({ comment: 'One or more requisite failed: x', __state_ran__: false }),
  );
  expect(failureLines(value).map(({ text }) => text)).toEqual(['first', 'second']);
});

const uncompiled = (...errors: readonly SaltValue[]): SaltMap =>
  mapOf({ data: mapOf({ host_master: [...errors] }), outputter: 'highstate', retcode: 1 });

// What render_state of salt/state.py logs of its errors.
test.each([
  ["Rendering SLS 'base:orch.x' failed: Jinja variable 'a' is undefined; line 3", 'CRITICAL'],
  ['Rendering SLS orch.x failed, render error: boom', 'CRITICAL'],
  ['Unknown include: Specified SLS base: a.b is not available on the salt master', 'CRITICAL'],
  ["Nonexistent saltenv 'dev' found in include of 'a' within SLS 'base:orch.x'", 'ERROR'],
  ["Attempted relative include of '...a' within SLS 'base:orch.x' goes beyond", 'ERROR'],
] as const)('%s: %s', (text, level) => {
  expect(failureLines(uncompiled(text))).toEqual([{ level, text }]);
});

test('the states of orchestrate_single, which stand bare, have their lines', () => {
  const bare = mapOf({ host_master: mapOf({ one: failed({ comment: 'Failure!' }) }) });
  expect(failureLines(bare)).toEqual([{ level: 'ERROR', text: 'Failure!' }]);
});

test('the states of an orchestration that a step ran have their lines before that step', () => {
  const inner = orchestrated(failed({ comment: 'inside' }));
  const changes = mapOf({ return: inner });
  const step = failed({ name: 'state.orchestrate', changes });
  expect(failureLines(orchestrated(step)).map(({ text }) => text)).toEqual([
    'inside',
    expect.stringMatching(/^\{'return': /),
  ]);
  const good = failed({ name: 'state.orch', result: true, changes });
  expect(failureLines(orchestrated(good)).map(({ text }) => text)).toEqual(['inside']);
});

test('errors that Salt does not log, and any other value, have no line', () => {
  expect(failureLines(uncompiled("No matching sls found for 'a' in env 'base'", 7))).toEqual([]);
  expect(failureLines(uncompiled('Detected conflicting IDs'))).toEqual([]);
  expect(failureLines(null)).toEqual([]);
});
