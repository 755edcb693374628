import { streamSchema } from '@brine/api';
import { LISTED_GRAINS } from '@brine/api/fleet';
import { FleetIndex } from '@brine/fleet';
import { loadPauses, until } from '@brine/testing/waits';
import { mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { afterEach, describe, expect, test } from 'vitest';
import { NOWHERE, usualAnswer } from '../../test/api-scene.ts';
import { closeScenes, served as servedScene } from '../../test/served-scene.ts';
import { StreamClient } from '../../test/stream-client.ts';
import { readTopics } from './topics.ts';

const AT = 1_764_500_000;
const clients: StreamClient[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await closeScenes();
});

/** A fleet, and how a caller with these rights follows it. */
async function served(
  rights?: readonly SaltValue[],
  reach: Readonly<Record<string, string[]>> = {},
) {
  const answer = (load: SaltMap) => {
    if (rights === undefined || textOf(load, 'cmd') !== 'brine_rights') return usualAnswer(load);
    return mapOf({ principal: 'alice', acl: [...rights], reach: mapOf(reach) });
  };
  const { scene, base } = await servedScene({ answer });
  const { fleet } = scene;
  const add = (id: string, os = 'Debian'): void => {
    fleet.setKey(id, { state: 'accepted', hasDenied: false });
    fleet.setGrains(id, [os, '12', 'Linux', '3006.5']);
    fleet.setPresence(id, { present: true, since: AT });
  };
  for (const id of ['db1', 'web1', 'web2', 'web3']) add(id);
  fleet.stateRun('web1', { jid: '20261130120000000000', at: AT, hasFailed: true });
  fleet.setKey('new1', { state: 'pending', hasDenied: false });
  const follow = async (topic: string) => {
    const client = new StreamClient();
    clients.push(client);
    await client.open(base, topic);
    return client;
  };
  /** A client with its first message. */
  const begun = async (topic: string) => {
    const client = await follow(topic);
    await until('it has the window', () => client.of('rows').length > 0);
    return client;
  };
  return { scene, fleet, add, follow, begun };
}

/** The list as a page has it that applies each message. */
function listOf(client: StreamClient): readonly string[] {
  let rows: string[] = [];
  for (const { rows: changed, counts } of client.of('rows')) {
    for (const { index, minion } of changed) rows[index] = minion.id;
    rows = rows.slice(0, counts.total);
  }
  return rows.filter((id) => id !== undefined);
}

describe('a window of the fleet', () => {
  test('begins whole, and then has what changed in it', async () => {
    const { begun, fleet } = await served();
    const client = await begun('minions:q=web&facets=true:0..1');
    const [first] = client.of('rows');
    expect(first).toMatchObject({
      topic: 'minions:q=web&facets=true:0..1',
      rows: [
        { index: 0, minion: { id: 'web1', present: true, stateRun: { result: 'failed' } } },
        { index: 1, minion: { id: 'web2' } },
      ],
      counts: { total: 3, facets: { key: { accepted: 3 }, present: { yes: 3, no: 0 } } },
    });
    fleet.setPresence('web2', { present: false, since: AT + 1 });
    await until('it has changed', () => client.of('rows').length > 1);
    expect(client.of('rows')[1]).toMatchObject({
      rows: [{ index: 1, minion: { id: 'web2', present: false } }],
      counts: { total: 3, facets: { present: { yes: 2, no: 1 } } },
    });
    // What is outside of it comes as a number alone, and what has no part in it not at all.
    fleet.seen('db1', 'return', AT + 5);
    fleet.setKey('web3', undefined);
    await until('a minion is gone', () => client.of('rows').length > 2);
    expect(client.of('rows')[2]).toMatchObject({ rows: [], counts: { total: 2 } });
    for (const { event, id, data } of client.messages) streamSchema.parse({ event, id, data });
  });

  test('has rows that moved by their places', async () => {
    const { begun, add, fleet } = await served();
    const client = await begun('minions:sort=-id&key=accepted:0..3');
    expect(listOf(client)).toEqual(['web3', 'web2', 'web1', 'db1']);
    add('web25');
    await until('it came', () => client.of('rows').length > 1);
    expect(listOf(client)).toEqual(['web3', 'web25', 'web2', 'web1']);
    expect(client.of('rows')[1]?.rows.map(({ index }) => index)).toEqual([1, 2, 3]);
    fleet.setKey('web3', { state: 'rejected', hasDenied: false });
    fleet.setKey('web2', { state: 'rejected', hasDenied: false });
    await until('both are gone', () => listOf(client).length === 3);
    expect(listOf(client)).toEqual(['web25', 'web1', 'db1']);
  });

  test('far down in its order has the rows there', async () => {
    const { begun, add } = await served();
    for (let n = 0; n < 3_000; n += 1) add(`app${n}`, n % 2 === 0 ? 'Debian' : 'Ubuntu');
    const client = await begun('minions:sort=-os&grain=kernel%3ALinux:1500..1502');
    const ids = client.of('rows')[0]?.rows.map(({ index, minion }) => [index, minion.grains.os]);
    expect(ids).toEqual([1500, 1501, 1502].map((at) => [at, 'Debian']));
  });

  test('is computed a few times for a thousand changes, and sent to all who follow it', async () => {
    const { begun, fleet } = await served();
    const topic = 'minions:sort=-seen:0..0';
    const one = await begun(topic);
    for (let n = 0; n < 1_000; n += 1) {
      fleet.seen('web2', 'return', AT + n);
      if (n % 100 === 0) await loadPauses(1);
    }
    await until('the last came', () => {
      const seen = one.of('rows').at(-1)?.rows[0]?.minion.seen?.at;
      return seen === '2025-11-30T11:09:59.000000Z';
    });
    expect(one.of('rows').length).toBeLessThan(5);
    // One that comes later has the whole window, which the others do not get again.
    const before = one.of('rows').length;
    const other = await begun(topic);
    expect(other.of('rows')).toMatchObject([{ rows: [{ index: 0, minion: { id: 'web2' } }] }]);
    fleet.seen('web3', 'return', AT + 5_000);
    await until('both have it', () => [one, other].every((c) => listOf(c)[0] === 'web3'));
    expect(one.of('rows')).toHaveLength(before + 1);
  });

  test('is of the fleet that is there, when its buckets were made again', async () => {
    const { begun, scene } = await served();
    const client = await begun('minions::0..9');
    expect(client.of('rows')[0]?.counts.total).toBe(5);
    const index = new FleetIndex(LISTED_GRAINS);
    Object.assign(scene.v1.fleet, {
      index: undefined,
      whole: async () => ({ index, asOf: NOWHERE }),
    });
    index.setKey('late1', { state: 'accepted', hasDenied: false });
    await until('it came', () => client.of('rows').at(-1)?.counts.total === 1);
    expect(listOf(client)).toEqual(['late1']);
  });

  test.each([
    'minions',
    'minions:',
    'minions:0..9',
    'minions::9..0',
    'minions::0..500',
    'minions::0..',
    'minions::-1..9',
    'minions::99999999..99999999',
    'minions:nothing=1:0..9',
    'minions:limit=5:0..9',
    'minions:after=abc:0..9',
    'minions:__proto__=1:0..9',
    'minions:q=[a]:0..9',
    'minions:sort=pillar:0..9',
    'minions:silentSince=yesterday:0..9',
    'minions:q=a&q=b:0..9',
  ])('is not begun as %s', async (topic) => {
    const { follow } = await served();
    const client = await follow(topic);
    await until('it is answered', () => client.isEnded);
    expect([client.status, client.refusal]).toEqual([400, expect.stringContaining('topic')]);
  });

  test.each([
    ['a ninth window', Array.from({ length: 9 }, (_, n) => `minions::${n}..${n}`), 'more than 8'],
    ['a window without meaning', ['minions::0..9', 'minions:q=[a]:0..9'], 'no query'],
    ['an age without meaning', ['minions::0..9', 'minions:silentSince=long:0..9'], 'silentSince'],
  ])('%s is refused by itself', async (_, topics, why) => {
    const { follow } = await served();
    const client = await follow(topics.join());
    await until('it begins', () => client.of('hello').length > 0);
    expect(client.of('hello')).toMatchObject([{ topics: topics.slice(0, -1).sort() }]);
    await until('it is refused', () => client.of('refused').length > 0);
    expect(client.of('refused')).toEqual([
      { topic: topics.at(-1), why: expect.stringContaining(why) },
    ]);
  });

  test('shares a stream with others: each message names its own', async () => {
    const { follow, fleet } = await served();
    const topics = ['minions:q=db:0..9', 'minions:q=web&sort=-id:0..0', 'minions:q=web:1..2'];
    const client = await follow(topics.join());
    await until('it has all', () => client.of('rows').length === topics.length);
    const idsOf = (topic = '') =>
      client
        .of('rows')
        .filter((one) => one.topic === topic)
        .map(({ rows }) => rows.map(({ index, minion }) => `${index} ${minion.id}`));
    expect(topics.map((topic) => idsOf(topic))).toEqual([
      [['0 db1']],
      [['0 web3']],
      [['1 web2', '2 web3']],
    ]);
    fleet.setPresence('web3', { present: false, since: AT + 1 });
    await until('both have it', () => client.of('rows').length === topics.length + 2);
    expect(topics.map((topic) => idsOf(topic).slice(1))).toEqual([[], [['0 web3']], [['2 web3']]]);
  });

  test('has a limit for one user, in all its streams', async () => {
    const { follow, scene } = await served();
    const windows = (from: number, to: number): string =>
      Array.from({ length: to - from }, (_, n) => `minions::${from + n}..${from + n}`).join();
    const enter = (names: string): (() => void) =>
      scene.parts.streams.enter('alice', readTopics(names, scene.parts.topics));
    const leaveFirst = enter(windows(0, 8));
    for (let from = 8; from < 48; from += 8) {
      enter(windows(from, from + 8));
      enter(windows(from, from + 8))();
    }
    const refused = await follow(windows(60, 63));
    await until('it is answered', () => refused.isEnded);
    expect([refused.status, refused.refusal]).toEqual([503, expect.stringContaining('too-many')]);
    expect((await follow(windows(8, 16))).status).toBe(200);
    expect((await follow(windows(60, 62))).status).toBe(200);
    expect(() => enter('minions::80..80')).toThrow('Too many');
    leaveFirst();
    expect(enter(windows(80, 88))).toBeTypeOf('function');
  });
});

const WEBS = { 'web*': ['web1', 'web2'] };
const SEEN = ['web1', 'web2'];

describe('a narrow user', () => {
  test.each([
    ['by minion', [mapOf({ 'web*': ['test.ping'] })], SEEN, [null, null], [null, null]],
    ['by function', ['test.ping'], ['db1', 'web1', 'web2', 'web3'], Array(4).fill(null), null],
    [
      'with grains',
      [mapOf({ 'web*': ['grains.items'] })],
      SEEN,
      ['Debian', 'Debian'],
      [null, null],
    ],
    ['with state runs', [mapOf({ 'web*': ['state.*'] })], SEEN, [null, null], ['failed', null]],
    ['with runners and jobs', ['@runner', '@jobs'], [], [], null],
    ['with events', ['@events'], [], [], null],
    ['with no rights', [], [], [], null],
  ] as const)('%s has the rows that its list has', async (_, rights, ids, os, runs) => {
    const { begun } = await served(rights, WEBS);
    const client = await begun('minions:facets=true:0..99');
    const [window] = client.of('rows');
    expect(window?.counts.total).toBe(ids.length);
    expect(window?.rows.map(({ minion }) => minion.id)).toEqual(ids);
    expect(window?.rows.map(({ minion }) => minion.grains.os)).toEqual(os);
    if (runs !== null) {
      expect(window?.rows.map(({ minion }) => minion.stateRun?.result ?? null)).toEqual(runs);
    }
    expect(window?.counts.facets?.key.pending).toBe(0);
  });

  test('learns of no other minion, neither by a row, a number nor a message', async () => {
    const { begun, fleet, add } = await served([mapOf({ 'web*': ['test.ping'] })], WEBS);
    const client = await begun('minions:sort=-seen:0..99');
    fleet.seen('db1', 'return', AT + 9);
    fleet.setPresence('web3', { present: false, since: AT });
    fleet.setGrains('web1', ['Secret', '', '', '']);
    fleet.stateRun('web1', { jid: '20261130130000000000', at: AT + 1, hasFailed: false });
    add('other1');
    fleet.setKey('new2', { state: 'pending', hasDenied: false });
    fleet.seen('web2', 'return', AT + 10);
    await until('its own came', () => client.of('rows').length > 1);
    expect(client.of('rows')).toHaveLength(2);
    const text = JSON.stringify(client.messages);
    for (const hidden of ['db1', 'web3', 'other1', 'new', 'Secret', '20261130130000000000']) {
      expect(text).not.toContain(hidden);
    }
    expect(client.of('rows')[1]).toMatchObject({ counts: { total: 2 } });
  });

  test('learns no grain by the filter or the order of a window', async () => {
    const { begun } = await served([mapOf({ 'web*': ['test.ping'] })], WEBS);
    expect((await begun('minions:os=Debian:0..9')).of('rows')[0]?.counts.total).toBe(0);
    expect(listOf(await begun('minions:sort=-saltversion:0..9'))).toEqual(SEEN);
  });
});

describe('an overview', () => {
  test('has numbers of the fleet as they change, and what jobs came to since', async () => {
    const { follow, fleet, scene } = await served();
    const client = await follow('overview');
    await until('it has the fleet', () => client.of('overview').length > 0);
    expect(client.of('overview')[0]).toMatchObject({
      fleet: { total: 5, key: { accepted: 4, pending: 1 }, present: { yes: 4, no: 0 } },
    });
    const jid = '20261130120000000001';
    scene.live.fire(`salt/job/${jid}/new`, { jid, user: 'bob', minions: ['web1', 'web2'] }, 'job');
    scene.live.fire(`salt/job/${jid}/ret/web1`, { jid, id: 'web1', retcode: 0 }, 'ret');
    scene.live.fire(`salt/job/${jid}/ret/web2`, { jid, id: 'web2', retcode: 2 }, 'ret');
    fleet.setPresence('web1', { present: false, since: AT });
    await until('both came', () => {
      const all = client.of('overview');
      return sumOf(all, 'returns') === 2 && all.some(({ fleet: one }) => one?.present.no === 1);
    });
    const all = client.of('overview');
    expect([sumOf(all, 'began'), sumOf(all, 'failed')]).toEqual([1, 1]);
    for (const { event, data } of client.messages) streamSchema.parse({ event, data });
  });

  test('of a narrow user counts its minions and its own jobs', async () => {
    const { follow, scene, add } = await served([mapOf({ 'web*': ['test.*'] })], WEBS);
    const client = await follow('overview');
    await until('it has the fleet', () => client.of('overview').length > 0);
    expect(client.of('overview')[0]).toMatchObject({ fleet: { total: 2, key: { pending: 0 } } });
    const [theirs, own] = ['20261130120000000002', '20261130120000000003'];
    scene.announce(theirs, 'bob');
    const data = { jid: theirs, id: 'web1', fun: 'test.ping', fun_args: [], retcode: 0 };
    scene.live.fire(`salt/job/${theirs}/ret/web1`, data, 'ret');
    add('other1');
    scene.announce(own, 'alice');
    await until('its own came', () => sumOf(client.of('overview'), 'began') > 0);
    const all = client.of('overview');
    expect([sumOf(all, 'began'), sumOf(all, 'returns')]).toEqual([1, 0]);
    expect(all.every(({ fleet }) => (fleet?.total ?? 2) === 2)).toBe(true);
  });
});

function sumOf(
  all: readonly { readonly jobs: { began: number; returns: number; failed: number } }[],
  name: 'began' | 'returns' | 'failed',
): number {
  return all.reduce((sum, { jobs }) => sum + jobs[name], 0);
}
