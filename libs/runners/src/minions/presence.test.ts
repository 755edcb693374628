import { MasterUnavailableError } from '@brine/master';
import { mapOf, type SaltValue } from '@brine/wire';
import { expect, test } from 'vitest';
import { sceneOf } from '../../test/runner-master.ts';

const ACCEPTED = ['web1', 'web2', 'db1', 'dead1'];
const PRESENT = new Map([
  ['web2', '10.0.0.2'],
  ['web1', '10.0.0.1'],
  ['db1', 'fd00::1'],
  ['stranger', '192.0.2.1'],
]);

function scene(present: () => Promise<ReadonlyMap<string, string>> = async () => PRESENT) {
  const of = (): Promise<never> => Promise.reject(new Error('not asked here'));
  return sceneOf(ACCEPTED, { more: { presence: { present, of } } });
}

const NAMES = ['list_state', 'present', 'joined', 'allowed', 'alived', 'reaped'];
const NOT_NAMES = ['list_not_state', ...NAMES.slice(1).map((name) => `not_${name}`)];

test('present are the accepted minions that are connected, by each of its names', async () => {
  const { value } = scene();
  for (const name of NAMES) {
    expect(await value(`manage.${name}`)).toEqual(['db1', 'web1', 'web2']);
  }
});

test('the other accepted minions are not present', async () => {
  const { value } = scene();
  for (const name of NOT_NAMES) expect(await value(`manage.${name}`)).toEqual(['dead1']);
  expect(await value('manage.not_present', [['web1']])).toEqual([]);
  expect(await value('manage.not_present', ['dead1,web1'])).toEqual(['dead1']);
});

test('a subset is a list or a text with commas; a minion without a key is none', async () => {
  const { value } = scene();
  expect(await value('manage.present', [['web2', 'dead1', 'stranger']])).toEqual(['web2']);
  expect(await value('manage.present', ['web2, db1'])).toEqual(['db1', 'web2']);
  expect(await value('manage.present', [[]])).toEqual(['db1', 'web1', 'web2']);
  expect(await value('manage.not_present', [[]])).toEqual([]);
});

test('with show_ip each has the address that it connects from', async () => {
  const { value } = scene();
  const kwargs = mapOf({ show_ip: true });
  expect(await value('manage.present', [], kwargs)).toEqual(
    mapOf({ db1: 'fd00::1', web1: '10.0.0.1', web2: '10.0.0.2' }),
  );
  // Salt's negation looks ids up in that map, and lists them alone.
  expect(await value('manage.not_present', [], kwargs)).toEqual(['dead1']);
});

test('over the loopback, show_ip has the first other address that the minion told', async () => {
  const seen = new Map([
    ['web1', '127.0.0.1'],
    ['web2', '::1'],
    ['db1', '127.0.0.1'],
    ['dead1', '10.0.0.9'],
  ]);
  const { memory, value } = scene(async () => seen);
  const answer = mapOf({ ipv4: ['10.0.0.5', '127.0.0.1'], ipv6: ['::1', 'fd00::5'] });
  memory.grains.set('web1', mapOf({ ipv4: ['127.0.0.1', '10.0.0.5'] }));
  for (const id of ['web2', 'dead1']) memory.grains.set(id, answer);
  memory.grains.set('db1', mapOf({ ipv4: ['127.0.0.1'] }));
  expect(await value('manage.present', [], mapOf({ show_ip: true }))).toEqual(
    mapOf({ db1: '127.0.0.1', dead1: '10.0.0.9', web1: '10.0.0.5', web2: 'fd00::5' }),
  );
});

test('minions.connected of the wheel lists the same', async () => {
  const { wheel } = scene();
  expect(await wheel('minions.connected')).toEqual({
    value: ['db1', 'web1', 'web2'] satisfies SaltValue,
    success: true,
  });
});

test('that no worker can tell is no empty list', async () => {
  const away = (): Promise<never> => Promise.reject(new MasterUnavailableError('no owner yet'));
  expect(await scene(away).run('manage.present')).toMatchObject({ success: false });
  expect(await scene(away).run('manage.not_present')).toMatchObject({ success: false });
  expect(await sceneOf(ACCEPTED).run('manage.present')).toMatchObject({ success: false });
});
