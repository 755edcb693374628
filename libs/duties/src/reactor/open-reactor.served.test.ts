import { ReactionQueue, reactionsWaiting } from '@brine/bus/reactions';
import { loadMasterConfig } from '@brine/config';
import { Metrics, type ServiceContext } from '@brine/service';
import { startNats, type TestNats, vectorFile } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapOf, pack } from '@brine/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type OpenReactor, openReactor, type ReactorParts } from './open-reactor.ts';
import { ReactorList } from './reactor-list.ts';

const { keys } = vectorFile<{ keys: { pem: string }[] }>('rsa.json');

let nats: TestNats;
const open: OpenReactor[] = [];

beforeEach(async () => {
  nats = await startNats();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((reactor) => reactor.close()));
  await nats.close();
});

/** The list of a process whose host has this one, and that reacts by it. */
async function processWith(reactor: readonly object[]): Promise<ReactorList> {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const { options: defaults } = loadMasterConfig({ configDir: '/nonexistent', env: {} });
  const options = { ...defaults, reactor, cachedir: '/nonexistent' };
  const context = { options, log, metrics: new Metrics(), telemetry: {} };
  const { pem } = keys[0]!;
  const at = { context: context as unknown as ServiceContext, pem };
  const bus = await nats.connect('runner-pool');
  const list = new ReactorList({ ...at, bus });
  const parts: Partial<ReactorParts> = { ...at, bus, list };
  open.push(openReactor(parts as ReactorParts));
  return list;
}

async function addEvent(name: string, n = 1): Promise<() => Promise<number>> {
  const bus = await nats.connect('runner-pool');
  const body = pack(mapOf({ a: 1 }));
  await new ReactionQueue(bus).add({ kind: 'event', id: `event/E/${n}.0`, name, body, timeMs: 1 });
  return () => reactionsWaiting(bus);
}

test('a host without a list leaves reactions to the hosts that have one', async () => {
  await processWith([]);
  const other = await processWith([{ 'my/*': ['/no/such/file.sls'] }]);
  // Two that take reactions share them.
  const waiting = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((n) => addEvent('my/tag', n)));
  await until('the reactions are over', async () => (await waiting[0]?.()) === 0);
  const { list } = await other.admin.failures();
  expect(list.map(({ what }) => what)).toEqual(Array(8).fill('/no/such/file.sls'));
});

test('a reaction that no entry of its worker matches is on record', async () => {
  const list = await processWith([{ 'other/*': ['/no/such/file.sls'] }]);
  const waiting = await addEvent('my/tag');
  await until('the reaction is over', async () => (await waiting()) === 0);
  const { list: failures } = await list.admin.failures();
  expect(failures).toMatchObject([
    { tag: 'my/tag', kind: 'missing', why: expect.stringContaining('the same on all hosts') },
  ]);
});
