import { listOf, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { sceneOf } from '../../test/runner-master.ts';

const ACCEPTED = ['web1', 'web2', 'db1', 'dead1'];
const HEARD = new Set(['web2', 'web1', 'db1', 'stranger']);

function scene(more: Parameters<typeof sceneOf>[1] = {}) {
  const asked: SaltMap[] = [];
  const made = sceneOf(ACCEPTED, {
    configured: { publish_session: 3_600 },
    jobCache: (query, args) => {
      if (query !== 'heard_since') throw new Error(`not asked here: ${query}`);
      asked.push(args);
      return (listOf(args, 'ids') ?? []).filter((id) => HEARD.has(id as string));
    },
    ...more,
  });
  return { ...made, asked };
}

const PRESENT = ['list_state', 'present', 'joined', 'allowed', 'alived', 'reaped'];
const ABSENT = ['list_not_state', ...PRESENT.slice(1).map((name) => `not_${name}`)];

test('present is what was heard of within publish_session, by each of its names', async () => {
  const { value, asked } = scene();
  const before = Date.now() - 3_600_000;
  for (const name of PRESENT) {
    expect(await value(`manage.${name}`)).toEqual(['db1', 'web1', 'web2']);
  }
  expect(asked[0]?.get('ids')).toEqual(ACCEPTED);
  expect(asked[0]?.get('sinceMs')).toBeGreaterThanOrEqual(before);
});

test('the other accepted minions are not present', async () => {
  const { value } = scene();
  for (const name of ABSENT) expect(await value(`manage.${name}`)).toEqual(['dead1']);
  expect(await value('manage.not_present', [['web1']])).toEqual([]);
  expect(await value('manage.not_present', ['dead1,web1'])).toEqual(['dead1']);
});

test('a subset is a list or a text with commas; a minion without a key is none', async () => {
  const { value, asked } = scene();
  expect(await value('manage.present', [['web2', 'dead1', 'stranger']])).toEqual(['web2']);
  expect(await value('manage.present', ['web2, db1'])).toEqual(['db1', 'web2']);
  expect(asked.map((args) => args.get('ids'))).toEqual([
    ['web2', 'dead1'],
    ['web2', 'db1'],
  ]);
});

test('with show_ip each has an address of its grains', async () => {
  const { value, memory } = scene();
  memory.grains.set('web1', mapOf({ ipv4: ['127.0.0.1', '10.0.0.1'], ipv6: ['::1'] }));
  memory.grains.set('web2', mapOf({ ipv4: ['127.0.0.1'], ipv6: ['::1', 'fd00::2'] }));
  const kwargs = mapOf({ show_ip: true });
  expect(await value('manage.present', [], kwargs)).toEqual(
    mapOf({ db1: '', web1: '10.0.0.1', web2: 'fd00::2' }),
  );
});

test('minions.connected of the wheel lists the same', async () => {
  const { wheel } = scene();
  expect(await wheel('minions.connected')).toEqual({
    value: ['db1', 'web1', 'web2'] satisfies SaltValue,
    success: true,
  });
});

test('a job cache that does not answer is no empty list', async () => {
  const { run } = scene({ jobCache: () => null });
  expect(await run('manage.present')).toMatchObject({ success: false });
});
