import { mapOf, type SaltMap } from '@brine/wire';
import { describe, expect, test } from 'vitest';
import { sceneOf } from '../../test/runner-master.ts';
import type { ReactionFailure, ReactorAdmin } from '../reactor-admin.ts';

const FAILURES: readonly ReactionFailure[] = [
  {
    id: 'event/EVENTS/9.0',
    tag: 'my/two',
    kind: 'render',
    what: '/a.sls',
    why: 'Jinja: line 3',
    atMs: Date.UTC(2026, 10, 26, 12),
  },
  { id: 'event/EVENTS/7.0', tag: 'my/one', kind: 'missing', what: '/b.sls', why: 'gone', atMs: 0 },
];

/** A reactor in memory. */
function reactor(isRunning = true): ReactorAdmin & { readonly calls: unknown[] } {
  const calls: unknown[] = [];
  let isLeader = true;
  const done = (comment: string): SaltMap => mapOf({ status: true, comment });
  return {
    calls,
    isRunning,
    list: async () => [mapOf({ 'salt/auth': ['/a.sls'] })],
    add: async (event, reactors) => {
      calls.push([event, reactors]);
      return done('Reactor added.');
    },
    remove: async (event) => {
      calls.push([event]);
      return done('Reactor deleted.');
    },
    isLeader: async () => isLeader,
    setLeader: async (value) => void (isLeader = value),
    failures: async () => ({ list: FAILURES, count: 12 }),
    waiting: async () => 3,
  };
}

function made(care = reactor()) {
  return { care, ...sceneOf([], { more: { reactor: care } }) };
}

test('list, add and delete give what Salt gives', async () => {
  const { care, value } = made();
  expect(await value('reactor.list')).toEqual([mapOf({ 'salt/auth': ['/a.sls'] })]);
  const status = mapOf({ status: true, comment: 'Reactor added.' });
  expect(await value('reactor.add', ['a/*', '/x/*.sls'])).toEqual(status);
  expect(await value('reactor.add', [], mapOf({ event: 'b', reactors: ['/x', '/y'] }))).toEqual(
    status,
  );
  expect(await value('reactor.delete', ['a/*'])).toEqual(
    mapOf({ status: true, comment: 'Reactor deleted.' }),
  );
  expect(care.calls).toEqual([['a/*', ['/x/*.sls']], ['b', ['/x', '/y']], ['a/*']]);
});

test('the leader is asked for and set', async () => {
  const { value } = made();
  expect(await value('reactor.is_leader')).toBe(true);
  expect(await value('reactor.set_leader', [false])).toBe(false);
  expect(await value('reactor.is_leader')).toBe(false);
  expect(await value('reactor.set_leader')).toBe(true);
});

describe('reactor.failed', () => {
  test('shows the newest failures with the queue', async () => {
    const { value } = made();
    expect(await value('reactor.failed', [1])).toEqual(
      mapOf({
        waiting: 3,
        counted: 12,
        failed: [
          mapOf({
            time: '2026-11-26T12:00:00.000Z',
            tag: 'my/two',
            kind: 'render',
            what: '/a.sls',
            why: 'Jinja: line 3',
            id: 'event/EVENTS/9.0',
          }),
        ],
      }),
    );
  });

  test('takes a glob of tags', async () => {
    const { value } = made();
    const shown = (await value('reactor.failed', [], mapOf({ tag: '*/one' }))) as SaltMap;
    expect(shown.get('failed')).toMatchObject([expect.any(Map)]);
    expect((shown.get('failed') as SaltMap[])[0]?.get('tag')).toBe('my/one');
  });
});

test.each(['list', 'is_leader', 'set_leader', 'failed'])(
  'without a reactor %s says so in the words of Salt',
  async (name) => {
    const { run } = made(reactor(false));
    expect(await run(`reactor.${name}`)).toMatchObject({
      success: false,
      value: expect.stringContaining('Reactor system is not running.'),
    });
  },
);
