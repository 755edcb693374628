import { mapOf, type SaltMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { JID, sceneOf } from '../../test/runner-master.ts';

function scene(configured: Readonly<Record<string, boolean>> = { minion_data_cache: true }) {
  const asked: SaltMap[] = [];
  const made = sceneOf(['web1', 'web2'], {
    configured,
    more: {
      pillars: {
        render: async (what) => {
          asked.push(what);
          return mapOf({ made: true });
        },
        ready: async () => undefined,
        kept: async () => undefined,
        of: () => undefined,
      },
      pillarTop: async (what) => {
        asked.push(what);
        return what.get('saltenv') === 'broken' ? ['no top'] : mapOf({ base: mapOf({}) });
      },
    },
  });
  made.memory.grains.set('web1', mapOf({ id: 'web1', os: 'Debian' }));
  made.pillars.set('web1', mapOf({ of: 'web1' }));
  made.pillars.set('web1/dev', mapOf({ of: 'dev' }));
  return { ...made, asked };
}

test('a pillar is made with the grains that are known, and those that are given', async () => {
  const { value, asked } = scene();
  const kwargs = mapOf({ pillarenv: 'dev', saltenv: 'qa', role: 'db' });
  expect(await value('pillar.show_pillar', ['web1'], kwargs)).toEqual(mapOf({ made: true }));
  expect(Object.fromEntries(asked[0] ?? [])).toMatchObject({
    id: 'web1',
    saltenv: 'qa',
    pillarenv: 'dev',
    grains: mapOf({ id: 'web1', os: 'Debian', role: 'db' }),
  });
  await value('pillar.show_pillar');
  expect(Object.fromEntries(asked[1] ?? [])).toMatchObject({
    id: '*',
    saltenv: 'base',
    pillarenv: null,
    grains: mapOf({}),
  });
});

test('an unknown minion has no grains, or only its name where the master keeps none', async () => {
  const kept = scene();
  await kept.value('pillar.show_pillar', ['nosuch'], mapOf({ role: 'db' }));
  expect(kept.asked[0]?.get('grains')).toEqual(mapOf({ role: 'db' }));
  await kept.value('pillar.show_top', ['nosuch']);
  expect(kept.asked[1]?.get('grains')).toEqual(mapOf({}));
  const { value, asked } = scene({ minion_data_cache: false });
  await value('pillar.show_pillar', ['web1'], mapOf({ role: 'db' }));
  expect(asked[0]?.get('grains')).toEqual(mapOf({ fqdn: 'web1', role: 'db' }));
  await value('pillar.show_top', ['web1']);
  expect(asked[1]?.get('grains')).toEqual(mapOf({}));
});

test('the top file is shown for the first minion that is known where none is named', async () => {
  const { value, asked } = scene();
  expect(await value('pillar.show_top')).toEqual(mapOf({ base: mapOf({}) }));
  expect(asked[0]?.get('grains')).toEqual(mapOf({ id: 'web1', os: 'Debian' }));
});

test('what is wrong with the top file is told on the way as well', async () => {
  const { value, fired } = scene();
  expect(await value('pillar.show_top', ['web1', 'broken'])).toEqual(['no top']);
  expect(fired).toEqual([
    [`salt/run/${JID}/progress`, mapOf({ data: ['no top'], outputter: 'nested' })],
  ]);
});

test('kept pillars are shown and forgotten, by environment where one is named', async () => {
  const { value, pillars } = scene();
  expect(await value('pillar.show_pillar_cache')).toEqual(mapOf({ web1: mapOf({ of: 'web1' }) }));
  const dev = mapOf({ pillarenv: 'dev' });
  expect(await value('pillar.show_pillar_cache', ['web*'], dev)).toEqual(
    mapOf({ web1: mapOf({ of: 'dev' }) }),
  );
  expect(await value('pillar.clear_pillar_cache', ['web1'], dev)).toBe(true);
  expect([...pillars.keys()]).toEqual(['web1']);
  expect(await value('pillar.clear_pillar_cache', ['nobody'])).toBe(true);
  expect(await value('pillar.clear_pillar_cache')).toBe(true);
  expect([...pillars.keys()]).toEqual([]);
});

test('a master that keeps no pillars says so', async () => {
  const { value } = scene({ minion_data_cache: false, pillar_cache: false });
  expect(await value('pillar.show_pillar_cache')).toBe(false);
  expect(await value('pillar.clear_pillar_cache')).toBe(false);
});
