import { expect, test } from 'vitest';
import { clusterOf, silentHosts, troubleOf } from '../roll/roll.ts';
import { askCluster, firstSentence, silentHere, silentTwice } from './cluster.ts';
import { drawCluster } from './draw-cluster.ts';
import { queuesOf } from './queues.ts';
import { sampleCluster, toldBy } from './sample-cluster.fixture.ts';

test('a host whose services all answer serves', () => {
  expect(troubleOf(sampleCluster())).toEqual([]);
});

test('a service that is missing, and one that is not ready, are named', () => {
  const { services } = sampleCluster();
  const without = services.filter(({ service }) => service !== 'publisher');
  expect(troubleOf({ services: without, leftOut: 0 })).toEqual(['no publisher serves']);
  const slow = toldBy('worker-pool', { name: 'worker-pool-2', machine: 'pod-7', ready: false });
  expect(troubleOf(sampleCluster([slow]))).toEqual(['worker-pool-2 on pod-7 is not ready']);
});

test('a relay without a master above, and a service that leaves, are no trouble', () => {
  const relay = toldBy('syndic-relay', { ready: false });
  const old = toldBy('worker-pool', { ready: false, leaving: true });
  expect(troubleOf(sampleCluster([relay, old]))).toEqual([]);
});

test('a host that reads the streams and does not answer is named, also by a changed name', () => {
  expect(silentHosts(sampleCluster())).toEqual([{ host: 'gone', behind: 40 }]);
  const back = toldBy('event-bus', { host: 'gone' });
  expect(silentHosts(sampleCluster([back]))).toEqual([]);
  // A reader's name has no dots: that of a.example has a hash.
  const own = { lags: [{ stream: 'EVENTS', reader: 'host-a_example-7a40aee5', pending: 1 }] };
  const report = sampleCluster([toldBy('event-bus', { status: own })]);
  expect(silentHosts(report).map(({ host }) => host)).not.toContain('a_example');
});

test('a service of this host that runs and does not answer is silent', () => {
  const here = [
    { name: 'event-bus', state: 'ready', pid: 10 },
    { name: 'publisher', state: 'ready', pid: 99 },
    { name: 'syndic-relay', state: 'waiting', pid: undefined },
  ] as const;
  expect(silentHere(sampleCluster(), here, 'a.example').map(({ name }) => name)).toEqual([
    'publisher',
  ]);
});

test('a service that was replaced meanwhile is not silent, one that hangs is', async () => {
  const hung = { name: 'publisher', state: 'ready', pid: 99 } as const;
  const replaced = { name: 'publisher', state: 'ready', pid: 98 } as const;
  const found = async (second: typeof hung | typeof replaced): Promise<unknown> => {
    const asks = [sampleCluster(), sampleCluster([toldBy('publisher', { pid: 98 })])];
    const looks: (typeof second)[] = [hung, second];
    const { silent } = await silentTwice(
      async () => asks.shift() ?? sampleCluster(),
      () => [looks.shift() ?? second],
      'a.example',
    );
    return silent.map(({ pid }) => pid);
  };
  expect(await found(replaced)).toEqual([]);
  expect(await found(hung)).toEqual([99]);
});

test('what a service says of itself moves no cursor, and may have any form', () => {
  const hostile = toldBy('worker-pool', {
    name: 'x\x1b[2Jy\u202e',
    machine: { not: 'a text' },
    pid: 'many',
    status: 'none',
  });
  const cluster = clusterOf({ services: [hostile, null, 7, {}], leftOut: -1 });
  expect(cluster.services).toHaveLength(4);
  expect(drawCluster(cluster)).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
  expect(clusterOf(undefined)).toEqual({ services: [], leftOut: 0 });
});

test('queues have what waits at gateways, at workers, and in the streams', () => {
  const queues = queuesOf(sampleCluster());
  const named = (name: string) => queues.find((one) => one.name.startsWith(name));
  expect(named('EVENTS/store')).toMatchObject({ kind: 'reader', waiting: 3, inHand: 2 });
  expect(named('aes at req-gateway')).toMatchObject({ waiting: 9, inHand: 9 });
  expect(named('aes at worker-pool')).toMatchObject({ waiting: 2, inHand: 6 });
  expect(queues[0]).toMatchObject({ kind: 'stream', name: 'EVENTS', share: 0.1 });
});

test('replicas on machines of their own are shown with these', () => {
  const pods = ['pod-1', 'pod-2'].map((machine) => toldBy('worker-pool', { machine }));
  const text = drawCluster(sampleCluster(pods));
  expect(text).toContain('1 host, 8 services');
  expect(text).toMatch(/worker-pool +pod-2 +ready/);
  expect(text).toMatch(/streams: EVENTS 10 % full, EVENTS\/store 3 behind/);
});

test('where nobody can be asked both reasons are told', async () => {
  const options = {
    brine: { stateDir: '/nonexistent', nats: { url: '', certificates: '' } },
  } as unknown as Parameters<typeof askCluster>[0];
  const roll = () => Promise.reject(new Error('Salt request timed out. The master is dead.'));
  await expect(askCluster(options, { roll })).rejects.toThrow(
    'by the request port: Salt request timed out; by NATS: the NATS of this master does not run',
  );
  expect(firstSentence('no sentence')).toBe('no sentence');
});
