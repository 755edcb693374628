import type { EventMessage } from '@brine/bus/events';
import type { ReactorAdmin } from '@brine/runners';
import { mapOf, pack, type SaltMap, type SaltValue } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { manageByEvent } from './manage-events.ts';

const JID = '20261126120000123456';
const LIST = mapOf({ 'salt/auth': ['/a.sls'] });

function scene() {
  const fired: (readonly [string, SaltMap])[] = [];
  const calls: unknown[] = [];
  const troubles: string[] = [];
  let isLeader = true;
  const admin: ReactorAdmin = {
    isRunning: true,
    list: async () => [LIST],
    add: async (...given) => {
      calls.push(given);
      return mapOf({ status: true, comment: 'Reactor added.' });
    },
    remove: async (...given) => {
      calls.push(given);
      return mapOf({ status: true, comment: 'Reactor deleted.' });
    },
    isLeader: async () => isLeader,
    setLeader: async (value) => void (isLeader = value),
    failures: async () => ({ list: [], count: 0 }),
    waiting: async () => 0,
  };
  const parts = {
    admin,
    id: 'm_master',
    mac: { isOf: (sum: string) => sum === 'right' },
    fire: async (tag: string, data: SaltMap) => void fired.push([tag, data]),
    onTrouble: (text: string) => void troubles.push(text),
  };
  const ask = (
    act: string,
    data: Readonly<Record<string, SaltValue>>,
    given: Partial<EventMessage> = {},
  ) => {
    const tag = `salt/run/${JID}/salt/reactors/manage/${act}`;
    const body = pack(mapOf(data));
    const proven = { kind: 'local', proof: '1000.right', timeMs: 1_500 } as const;
    const event = { tag, ...proven, fetch: async () => body, ...given } as EventMessage;
    return manageByEvent(event, parts);
  };
  return { ask, fired, calls, troubles, leads: () => isLeader };
}

describe('a stock runner of the host', () => {
  test('lists, adds and deletes by events, and gets its answers', async () => {
    const { ask, fired, calls } = scene();
    expect(await ask('list', {})).toBe(true);
    await ask('add', { event: 'a/*', reactors: ['/a.sls', 5] });
    await ask('delete', { event: 'a/*' });
    expect(calls).toEqual([['a/*', ['/a.sls']], ['a/*']]);
    expect(fired).toEqual([
      ['salt/reactors/manage/list-results', mapOf({ reactors: [LIST] })],
      [
        'salt/reactors/manage/add-complete',
        mapOf({
          reactors: [LIST],
          result: mapOf({ status: true, comment: 'Reactor added.' }),
        }),
      ],
      [
        'salt/reactors/manage/delete-complete',
        mapOf({
          reactors: [LIST],
          result: mapOf({ status: true, comment: 'Reactor deleted.' }),
        }),
      ],
    ]);
  });

  test('sets the leader of its own master only', async () => {
    const { ask, fired, leads } = scene();
    await ask('set_leader', { id: 'another_master', value: false });
    expect(leads()).toBe(true);
    await ask('set_leader', { id: 'm_master', value: false });
    expect(leads()).toBe(false);
    await ask('is_leader', {});
    const tag = 'salt/reactors/manage/leader/value';
    expect(fired).toEqual([
      [tag, mapOf({ result: true })],
      [tag, mapOf({ result: false })],
      [tag, mapOf({ result: false })],
    ]);
  });
});

test('without the key of the master nothing is changed or told', async () => {
  const { ask, fired, calls, troubles } = scene();
  const add = { event: 'a', reactors: ['/a'] };
  for (const proof of [undefined, '', '1000.wrong', 'right', '.right', '9000000.right'])
    expect(await ask('add', { key: 'right', ...add }, { proof })).toBe(true);
  expect([fired, calls]).toEqual([[], []]);
  expect(troubles).toHaveLength(6);
  expect(troubles[0]).toContain('without the key of the master');
});

test('what is no such question is left alone: answers, and events of minions', async () => {
  const { ask, fired } = scene();
  expect(await ask('list-results', {})).toBe(false);
  expect(await ask('leader/value', {})).toBe(false);
  expect(await ask('list', {}, { kind: 'minion' })).toBe(false);
  expect(fired).toEqual([]);
});
