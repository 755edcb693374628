import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { failedStateLines } from './failed-states.ts';

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
  expect(failedStateLines(orchestrated(failed(state)))).toEqual([line]);
});

test('states that are well, or did not run, have no line; the order is that of the run', () => {
  const value = orchestrated(
    failed({ comment: 'second', __run_num__: 3 }),
    failed({ comment: 'first', __run_num__: 1 }),
    mapOf({ name: 'well', result: true, changes: new Map(), comment: 'Success!' }),
    failed({ comment: 'One or more requisite failed: x', __state_ran__: false }),
  );
  expect(failedStateLines(value)).toEqual(['first', 'second']);
});

test('errors before the first state, and any other value, have no line', () => {
  const uncompiled = mapOf({ data: mapOf({ host_master: ['No matching sls'] }) });
  expect(failedStateLines(uncompiled)).toEqual([]);
  expect(failedStateLines(null)).toEqual([]);
});
