import { expect, test } from 'vitest';
import { type ClientAct, enabledBy, isEnabled } from './clients.ts';

const ACTS: readonly ClientAct[] = [
  'job',
  'batch',
  'beginRunner',
  'beginWheel',
  'callRunner',
  'callWheel',
];

test.each<[string, readonly ClientAct[]]>([
  ['local', ['job', 'batch']],
  ['local_async', ['job']],
  ['local_batch', ['batch']],
  ['runner', ['beginRunner', 'callRunner']],
  ['runner_async', ['beginRunner']],
  ['wheel', ['beginWheel', 'callWheel']],
  ['wheel_async', ['beginWheel']],
  ['ssh', []],
])('%s lets one do %j', (client, acts) => {
  expect(ACTS.filter((act) => isEnabled({ clients: [client] }, act))).toEqual(acts);
});

test('what an option enables is enabled with it', () => {
  for (const act of ACTS) {
    const [, name = ''] = /^netapi_enable_clients: \[(\w+)\]$/.exec(enabledBy(act)) ?? [];
    expect(isEnabled({ clients: [name] }, act)).toBe(true);
  }
});
