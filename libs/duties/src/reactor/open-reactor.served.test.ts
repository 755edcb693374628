import { ReactionQueue, reactionsWaiting } from '@brine/bus/reactions';
import { loadMasterConfig } from '@brine/config';
import { Metrics, type ServiceContext } from '@brine/service';
import { startNats, type TestNats, vectorFile } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapOf, pack } from '@brine/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type OpenReactor,openReactor, type ReactorParts } from './open-reactor.ts';

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

/** The reactor of a worker whose host has this list. */
async function workerWith(reactor: readonly object[]): Promise<OpenReactor> {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const { options: defaults } = loadMasterConfig({ configDir: '/nonexistent', env: {} });
  const options = { ...defaults, reactor, cachedir: '/nonexistent' };
  const context = { options, log, metrics: new Metrics(), telemetry: {} };
  const parts: Partial<ReactorParts> = {
    context: context as unknown as ServiceContext,
    ...{ bus: await nats.connect('worker-pool'), pem: keys[0]!.pem },
  };
  const made = openReactor(parts as ReactorParts);
  open.push(made);
  return made;
}

async function addEvent(name: string, n = 1): Promise<() => Promise<number>> {
  const bus = await nats.connect('worker-pool');
  const body = pack(mapOf({ a: 1 }));
  await new ReactionQueue(bus).add({ kind: 'event', id: `event/E/${n}.0`, name, body, timeMs: 1 });
  return () => reactionsWaiting(bus);
}

test('a host without a list leaves reactions to the hosts that have one', async () => {
  await workerWith([]);
  const other = await workerWith([{ 'my/*': ['/no/such/file.sls'] }]);
  // Two that take reactions share them.
  const waiting = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((n) => addEvent('my/tag', n)));
  await until('the reactions are over', async () => (await waiting[0]?.()) === 0);
  const { list } = await other.admin.failures();
  expect(list.map(({ what }) => what)).toEqual(Array(8).fill('/no/such/file.sls'));
});

test('a reaction that no entry of its worker matches is on record', async () => {
  const reactor = await workerWith([{ 'other/*': ['/no/such/file.sls'] }]);
  const waiting = await addEvent('my/tag');
  await until('the reaction is over', async () => (await waiting()) === 0);
  const { list } = await reactor.admin.failures();
  expect(list).toMatchObject([
    { tag: 'my/tag', kind: 'missing', why: expect.stringContaining('the same on all hosts') },
  ]);
});
