import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { returnAbove, roadOf } from './roads.ts';

const JOB = 'salt/job/20261122101112131415';
const RETURN = mapOf({ jid: '20261122101112131415', id: 'a', return: true, retcode: 0 });

// As salt/minion.py SyndicManager._process_event sorts them.
test.each([
  ['sync', `${JOB}/ret/a`, RETURN, 'return'],
  ['sync', `${JOB}/ret/a`, new Map([...RETURN, ['master_id', 'me']]), 'return'],
  ['cluster', `${JOB}/ret/a`, new Map([...RETURN, ['master_id', 'other']]), 'return'],
  ['cluster', `${JOB}/ret/a`, new Map([...RETURN, ['master_id', 'me']]), 'none'],
  ['sync', `${JOB}/ret/a`, mapOf({ id: 'a', return: true }), 'none'],
  ['sync', `${JOB}/new`, mapOf({ minions: ['a'] }), 'event'],
  ['cluster', `${JOB}/new`, mapOf({ minions: ['a'] }), 'event'],
  ['sync', `${JOB}/publish`, mapOf({ fun: 'test.ping' }), 'event'],
  ['cluster', `${JOB}/publish`, mapOf({ fun: 'test.ping' }), 'none'],
  ['sync', 'salt/auth', mapOf({ act: 'accept' }), 'event'],
  ['cluster', 'salt/auth', mapOf({ act: 'accept' }), 'none'],
  ['sync', 'salt/run/1/ret', mapOf({ retcode: 0 }), 'none'],
  ['sync', 'salt/job/nocache/ret/a', mapOf({ return: true }), 'event'],
  ['sync', 'syndic/low/salt/job/1/new', mapOf({ minions: ['b'] }), 'event'],
] as const)('%s: %s goes the right way', (mode, tag, data, road) => {
  expect(roadOf(tag, new Map(data), mode, 'me')).toBe(road);
});

test('in a cluster a master without a name has no returns of its own', () => {
  expect(roadOf(`${JOB}/ret/a`, RETURN, 'cluster', undefined)).toBe('return');
});

test('only the returned value and its outcome go up', () => {
  const data = new Map([...RETURN, ['cmd', '_return'], ['fun_args', [1]], ['sig', 'x']] as const);
  expect(returnAbove(new Map(data))).toEqual(mapOf({ return: true, retcode: 0, fun_args: [1] }));
});
