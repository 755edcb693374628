import { Bucket, type Bus, ensureStreams, escapeKey } from '@brine/bus';
import { makeConsumers } from '@brine/bus/apart';
import { type FleetRow, pageOf, RowSight } from '@brine/fleet';
import { resolveNatsServer, startNatsServer } from '@brine/nats-server';
import { packMinions, type SavedMinion } from '@brine/presence';
import { startNats, type TestNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapOf, pack, type SaltValue } from '@brine/wire';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { jidOf, WrittenEvents } from '../../test/written-events.ts';
import { LiveEvents } from '../live/live-events.ts';
import { FleetFeed } from './fleet-feed.ts';

let nats: TestNats;
let worker: Bus;
let owner: Bus;
const ends: (() => void)[] = [];

beforeEach(async () => {
  nats = await startNats();
  worker = await nats.connect('worker-pool');
  owner = await nats.connect('runner-pool');
}, 600_000);
afterEach(async () => {
  for (const end of ends.splice(0)) end();
  await nats.close();
});

/** A feed as http-api has it. */
async function feedOf(patienceMs = 20_000) {
  const bus = await nats.connect('http-api');
  const troubles: string[] = [];
  const onTrouble = (text: string): void => void troubles.push(text);
  const live = new LiveEvents(bus, onTrouble);
  const feed = new FleetFeed({ bus, live, onTrouble, patienceMs });
  ends.push(() => {
    feed.close();
    live.close();
  });
  const row = async (id: string): Promise<FleetRow | undefined> => {
    const { index } = await feed.whole();
    const found = pageOf(index, new RowSight(index, undefined), { limit: 500 });
    return found.rows.find((one) => one.id === id);
  };
  return { feed, row, troubles };
}

const key = (id: string, state: string, denied: readonly string[] = []) =>
  new Bucket(worker, 'brine_keys').put(
    escapeKey(id),
    Buffer.from(JSON.stringify({ state, pub: 'PEM', denied, at: 1 })),
  );

const grains = (id: string, values: Readonly<Record<string, SaltValue>>, at = 1_000) =>
  new Bucket(worker, 'brine_minions').put(
    escapeKey(id),
    pack(mapOf({ grains: mapOf(values), updated_at: at })),
  );

const presence = (...minions: readonly Pick<SavedMinion, 'id' | 'present'>[]) =>
  new Bucket(owner, 'brine_presence').put(
    escapeKey('minions', '7'),
    packMinions(
      minions.map((one) => ({
        ...one,
        sinceMs: 5_000,
        goneMs: 0,
        wasConnected: true,
        addresses: [],
      })),
    ),
  );

test('a fleet is read whole, and follows keys, grains, presence, returns and state runs', async () => {
  await key('web1', 'accepted', ['OTHER']);
  await key('new1', 'pending');
  await key('old1', 'deleted');
  await key('a*', 'accepted');
  await grains('web1', { os: 'Debian', osrelease: 12, saltversion: '3006.5', kernel: ['x'] });
  await presence({ id: 'web1', present: true }, { id: 'old1', present: true });
  const { feed, row, troubles } = await feedOf();
  const { index, asOf } = await feed.whole();
  expect(asOf).toMatch(/^\d+/);
  expect(await row('web1')).toEqual({
    id: 'web1',
    key: 'accepted',
    hasDenied: true,
    present: true,
    since: 5,
    seen: { at: 1, by: 'grains' },
    grains: ['Debian', '12', '', '3006.5'],
    stateRun: undefined,
    testRun: undefined,
    drift: 'unknown',
  });
  expect(await row('new1')).toMatchObject({ key: 'pending', present: undefined });
  expect([await row('old1'), await row('a*')]).toEqual([undefined, undefined]);

  await key('new1', 'accepted');
  await until('the key is accepted', async () => (await row('new1'))?.key === 'accepted');
  await grains('web1', { os: 'Ubuntu' }, 2_000);
  await until('the grains have changed', async () => (await row('web1'))?.grains[0] === 'Ubuntu');
  await presence({ id: 'web1', present: false }, { id: 'new1', present: true });
  await until('one came', async () => (await row('new1'))?.present === true);
  expect((await row('web1'))?.present).toBe(false);
  // The one without a key is left out of the next record, and of the index.
  expect(index.rows.find('old1')).toBeUndefined();

  const written = new WrittenEvents(worker);
  await written.returns(jidOf(1), 'web1', { fun: 'state.apply', retcode: 2 });
  await written.returns(jidOf(2), 'web1', {
    fun: 'state.apply',
    fun_args: ['test=True'],
    return: mapOf({ a: mapOf({ result: null }), b: mapOf({ result: true }) }),
  });
  await written.returns(jidOf(3), 'stranger', { fun: 'state.apply' });
  await written.returns(jidOf(4), 'new1', { fun: 'state.highstate', retcode: 0 });
  await until('the last one has come', async () => (await row('new1'))?.stateRun !== undefined);
  expect(await row('new1')).toMatchObject({ stateRun: { jid: jidOf(4), hasFailed: false } });
  expect(await row('web1')).toMatchObject({
    seen: { by: 'return' },
    stateRun: { jid: jidOf(1), hasFailed: true },
    testRun: { jid: jidOf(2), hasFailed: false, would: 1 },
    drift: 'would',
  });
  expect(index.rows.find('stranger')).toBeUndefined();
  await written.site('salt/job/20261130000000000000/ret/web1', { fun: 'state.apply' });
  await key('web1', 'deleted');
  await new Bucket(worker, 'brine_minions').put(escapeKey('web1'), Buffer.alloc(0));
  await until('it is gone', () => index.rows.find('web1') === undefined);
  expect(feed.stats).toEqual({ minions: 1, isWhole: true, refused: 0 });
  expect(troubles).toEqual([]);
});

test('after NATS was away a fleet has what changed meanwhile', async () => {
  await key('web1', 'accepted');
  const { feed, row } = await feedOf();
  expect(await row('web1')).toMatchObject({ present: false });
  await nats.server.stop();
  await until('it is not whole', () => !feed.stats.isWhole);
  const binary = await resolveNatsServer({ env: process.env });
  const again = await startNatsServer({ binary, dir: nats.dir, maxFileStore: 1024 ** 3 });
  onTestFinished(() => again.stop());
  await until('a key can be written', () => key('web2', 'accepted'));
  await presence({ id: 'web1', present: true });
  await until('both have come', async () => {
    return (await row('web2')) !== undefined && (await row('web1'))?.present === true;
  });
});

test('a bucket that was made again is read again, without what it had', async () => {
  await key('web1', 'accepted');
  const { feed, row } = await feedOf();
  expect(await row('web1')).toBeDefined();
  const bus = await nats.connect('event-bus');
  await bus.inbox.request('$JS.API.STREAM.DELETE.KV_brine_keys', '', { timeoutMs: 10_000 });
  await until('it is not whole', () => !feed.stats.isWhole, { withinMs: 60_000 });
  await ensureStreams(bus, { totalBytes: 1024 ** 3 / 2 });
  await until('a key can be written', () => key('web2', 'accepted'));
  await until('the new fleet is here', async () => (await row('web2')) !== undefined, {
    withinMs: 60_000,
  });
  expect(await row('web1')).toBeUndefined();
  expect(feed.stats.minions).toBe(1);
});

test('half a fleet is no answer', async () => {
  const apart = await startNats({ streams: false });
  try {
    const bus = await apart.connect('http-api');
    const live = new LiveEvents(bus, () => undefined);
    const feed = new FleetFeed({ bus, live, onTrouble: () => undefined, patienceMs: 300 });
    ends.push(() => feed.close());
    await expect(feed.whole()).rejects.toMatchObject({ status: 503, retryAfter: 5 });
    expect(feed.stats).toEqual({ minions: 0, isWhole: false, refused: 0 });
    const made = await apart.connect('event-bus');
    await ensureStreams(made, { totalBytes: 1024 ** 3 / 2 });
    makeConsumers(made);
    await until('it is whole', async () => {
      await feed.whole().catch(() => undefined);
      return feed.stats.isWhole;
    });
  } finally {
    for (const end of ends.splice(0)) end();
    await apart.close();
  }
});
