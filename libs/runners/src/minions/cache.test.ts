import { mapOf, type SaltMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { sceneOf } from '../../test/runner-master.ts';

async function scene(more: Parameters<typeof sceneOf>[1] = {}) {
  const made = sceneOf(['web1', 'web2', 'db1'], {
    configured: { cachedir: '/var/cache/salt/master' },
    ...more,
  });
  for (const id of ['web1', 'web2']) {
    made.memory.grains.set(id, mapOf({ id, role: 'web' }));
    made.pillars.set(id, mapOf({ of: id }));
    await made.memory.ports.mines.change(id, () => mapOf({ 'test.ping': true, role_of: 'web' }));
  }
  const kept = async () => {
    const { banks } = made.master;
    const [grains, pillar, mine] = [banks.ids('grains'), banks.ids('pillar'), banks.ids('mine')];
    return { grains: await grains, pillar: await pillar, mine: await mine };
  };
  return { ...made, kept };
}

const WEB = ['web1', 'web2'];

test('what is kept is shown of the minions that a target means', async () => {
  const { value } = await scene();
  expect(await value('cache.grains', ['web1'])).toEqual(
    mapOf({ web1: mapOf({ id: 'web1', role: 'web' }) }),
  );
  // A minion of the target without anything is there, as in Salt.
  expect(await value('cache.pillar', ['*1'])).toEqual(
    mapOf({ web1: mapOf({ of: 'web1' }), db1: mapOf({}) }),
  );
  expect(await value('cache.mine', ['role:web', 'grain'])).toEqual(
    mapOf({
      web1: mapOf({ 'test.ping': true, role_of: 'web' }),
      web2: mapOf({ 'test.ping': true, role_of: 'web' }),
    }),
  );
});

test('a target that means nobody shows nothing, of the mine either', async () => {
  const { value } = await scene();
  for (const bank of ['grains', 'pillar', 'mine']) {
    expect(await value(`cache.${bank}`, ['nomatch*'])).toEqual(mapOf({}));
  }
});

test('without a target all are shown, but grains need one', async () => {
  const { run, value } = await scene();
  expect([...((await value('cache.pillar')) as SaltMap).keys()]).toEqual(WEB);
  expect([...((await value('cache.mine')) as SaltMap).keys()]).toEqual(WEB);
  const { value: text } = await run('cache.grains');
  expect(text).toContain("grains() missing 1 required positional argument: 'tgt'");
});

test('clearing forgets what it names, of the minions that are meant', async () => {
  const { value, kept } = await scene();
  expect(await value('cache.clear_grains', ['web1'])).toBe(true);
  expect(await kept()).toEqual({ grains: ['web2'], pillar: WEB, mine: WEB });
  expect(await value('cache.clear_pillar', ['web1'])).toBe(true);
  expect(await value('cache.clear_mine', ['web2,db1', 'list'])).toBe(true);
  expect(await kept()).toEqual({ grains: ['web2'], pillar: ['web2'], mine: ['web1'] });
  expect(await value('cache.clear_all', ['*'])).toBe(true);
  expect(await kept()).toEqual({ grains: [], pillar: [], mine: [] });
});

test('without a target nothing is cleared', async () => {
  const { value, kept } = await scene();
  for (const what of ['grains', 'pillar', 'mine', 'all', 'mine_func']) {
    expect(await value(`cache.clear_${what}`)).toBe(false);
  }
  expect(await value('cache.clear_mine_func', ['*'])).toBe(false);
  expect(await kept()).toEqual({ grains: WEB, pillar: WEB, mine: WEB });
});

test('one function is forgotten in the mine', async () => {
  const { value } = await scene();
  expect(await value('cache.clear_mine_func', ['web1', 'glob', 'role_of'])).toBe(true);
  expect(await value('cache.mine', ['web*'])).toEqual(
    mapOf({
      web1: mapOf({ 'test.ping': true }),
      web2: mapOf({ 'test.ping': true, role_of: 'web' }),
    }),
  );
});

test('banks are listed and read under the names of 3008 and of 3006', async () => {
  const { value, pillars } = await scene();
  pillars.set('web1/dev', mapOf({ of: 'dev' }));
  expect(await value('cache.list', ['grains'])).toEqual(WEB);
  expect(await value('cache.list', ['minions/'])).toEqual(WEB);
  expect(await value('cache.list', ['minions/web1'])).toEqual(['data', 'mine']);
  expect(await value('cache.list', ['minions/db1'])).toEqual([]);
  expect(await value('cache.list', ['cloud/active'])).toEqual([]);
  expect(await value('cache.fetch', ['pillar', 'web1'])).toEqual(mapOf({ of: 'web1' }));
  expect(await value('cache.fetch', ['pillar', 'web1:dev'])).toEqual(mapOf({ of: 'dev' }));
  expect(await value('cache.fetch', ['minions/web1', 'data'])).toEqual(
    mapOf({ grains: mapOf({ id: 'web1', role: 'web' }), pillar: mapOf({ of: 'web1' }) }),
  );
  expect(await value('cache.fetch', ['grains', 'nobody'])).toEqual(mapOf({}));
  expect(await value('cache.fetch', ['cloud/active', 'x'])).toEqual(mapOf({}));
});

test('a flush says whether there was anything', async () => {
  const { value, kept } = await scene();
  expect(await value('cache.flush', ['grains', 'web1'])).toBe(true);
  expect(await value('cache.flush', ['grains', 'web1'])).toBe(false);
  expect(await value('cache.flush', ['minions/web2', 'data'])).toBe(true);
  expect(await kept()).toEqual({ grains: [], pillar: ['web1'], mine: WEB });
  expect(await value('cache.flush', ['minions/web2', 'other'])).toBe(false);
  expect(await value('cache.flush', ['mine'])).toBe(true);
  expect(await value('cache.flush', ['mine'])).toBe(false);
  expect(await value('cache.flush', ['minions', 'web1'])).toBe(false);
  expect(await value('cache.flush', ['minions'])).toBe(true);
  expect(await value('cache.flush', ['elsewhere'])).toBe(false);
});

test('only data of minions with a key can be stored', async () => {
  const { run, value } = await scene();
  const data = mapOf({ role: 'db' });
  expect(await value('cache.store', ['grains', 'db1', data])).toBeNull();
  expect(await value('cache.grains', ['db1'])).toEqual(mapOf({ db1: data }));
  expect(await run('cache.store', ['grains', 'stranger', data])).toMatchObject({
    value: 'no minion stranger has a key here',
    success: false,
  });
  expect(await run('cache.store', ['grains', 'db1', 'text'])).toMatchObject({ success: false });
  const elsewhere = await run('cache.store', ['mycache', 'mykey', data]);
  expect(elsewhere.value).toMatch(/^mycache is no bank of Brine/);
  expect(elsewhere).toMatchObject({ success: false, retcode: 1 });
});

test('another cachedir is refused, not passed over', async () => {
  const { run, value } = await scene();
  const elsewhere = mapOf({ cachedir: '/tmp/cache' });
  const { value: text, success } = await run('cache.list', ['grains'], elsewhere);
  expect([text, success]).toEqual([expect.stringContaining('cachedir is not in force'), false]);
  const own = mapOf({ cachedir: '/var/cache/salt/master' });
  expect(await value('cache.list', ['grains'], own)).toEqual(WEB);
});

test('what would be more than one event can carry is refused by name', async () => {
  const { memory, run } = await scene();
  const half = 'x'.repeat(33 * 1024 * 1024);
  for (const id of WEB) memory.grains.set(id, mapOf({ half }));
  const { value: text, success } = await run('cache.grains', ['web*']);
  expect([text, success]).toEqual([expect.stringContaining('name fewer minions'), false]);
});
