import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { back, sceneOf } from '../../test/runner-master.ts';

const ALLOWED = mapOf({ __data__: 'hidden', __saltmine_acl__: 1, allow_tgt: 'web1' });

async function scene(more: Parameters<typeof sceneOf>[1] = {}) {
  const made = sceneOf(['web1', 'web2'], more);
  for (const id of ['web1', 'web2']) {
    made.memory.grains.set(id, mapOf({ role: 'web' }));
    const mine = mapOf({ role_of: id, 'test.ping': true, secret: ALLOWED });
    await made.memory.ports.mines.change(id, () => mine);
  }
  return made;
}

test('mine.get shows one function by minion, several by function', async () => {
  const { value } = await scene();
  expect(await value('mine.get', ['web*', 'role_of'])).toEqual(
    mapOf({ web1: 'web1', web2: 'web2' }),
  );
  const both = mapOf({
    role_of: mapOf({ web1: 'web1' }),
    'test.ping': mapOf({ web1: true }),
  });
  expect(await value('mine.get', ['web1', 'role_of,test.ping'])).toEqual(both);
  expect(await value('mine.get', ['web1', ['role_of', 'test.ping']])).toEqual(both);
  expect(await value('mine.get', ['role:web', 'role_of', 'grain'])).toEqual(
    mapOf({ web1: 'web1', web2: 'web2' }),
  );
});

test('the master has no other rights to the mine than its id gives', async () => {
  const { value } = await scene();
  expect(await value('mine.get', ['*', 'secret'])).toEqual(mapOf({}));
  const limited = await scene({ rules: { mineGet: { 'test_m.*': ['role_.*'] } } });
  expect(await limited.value('mine.get', ['web1', 'role_of,test.ping'])).toEqual(
    mapOf({ role_of: mapOf({ web1: 'web1' }) }),
  );
});

test('mine.update hands its keywords on to the minions', async () => {
  const made = await scene({ minions: () => [back('web1', true)] });
  expect(await made.value('mine.update', ['web*'])).toEqual(mapOf({ web1: true }));
  const kwargs = mapOf({ clear: true, mine_functions: mapOf({ 'test.ping': [] }) });
  await made.value('mine.update', ['role:web', 'grain'], kwargs);
  expect(made.commands).toEqual([
    { tgt: 'web*', tgtType: 'glob', fun: 'mine.update', arg: [], isOwn: true },
    {
      // Its caller has named functions.
      tgt: 'role:web',
      tgtType: 'grain',
      fun: 'mine.update',
      isOwn: false,
      arg: [new Map([['__kwarg__', true], ...kwargs])],
    },
  ]);
});

const matches = async (expr: string, id: string, more: Parameters<typeof sceneOf>[1] = {}) => {
  const made = await scene({
    more: {
      pillars: {
        render: async () => mapOf({}),
        ready: async () => undefined,
        kept: async () => undefined,
        of: () => mapOf({ secret: 'abc' }),
      },
    },
    ...more,
  });
  return made.value('match.compound_matches', [expr, id]);
};
const YES = mapOf({ res: 'web1' });
const NO = mapOf({ res: false });

test('a compound target means a minion or not', async () => {
  expect(await matches('G@role:web and not web2', 'web1')).toEqual(YES);
  expect(await matches('G@role:web and not web1', 'web1')).toEqual(NO);
  expect(await matches('( db1 and', 'web1')).toEqual(NO);
  expect(await matches('*', 'stranger')).toEqual(NO);
  expect(await matches('*', '../web1')).toEqual(NO);
});

test('pillars match by exact values only, and nothing is known without minion data', async () => {
  expect(await matches('I@secret:abc', 'web1')).toEqual(YES);
  expect(await matches('I@secret:a*', 'web1')).toEqual(NO);
  expect(await matches('J@secret:a.c', 'web1')).toEqual(NO);
  expect(await matches('web1', 'web1', { rules: { minionDataCache: false } })).toEqual(NO);
});
