import { type Cluster, clusterOf } from '../roll/roll.ts';

/** What one service of a sample tells, with what a test changes. */
export function toldBy(
  service: string,
  changed: Readonly<Record<string, unknown>> = {},
  clock: { readonly aheadMs?: number; readonly withinMs?: number } = {},
): object {
  const facts = {
    name: service,
    host: 'a.example',
    machine: 'a',
    release: '0.2.0',
    node: '20.20.2',
    pid: 7,
    ready: true,
    leaving: false,
    startedMs: 1_000,
    status: {},
    ...changed,
  };
  return { service, facts, aheadMs: clock.aheadMs ?? 0, withinMs: clock.withinMs ?? 1 };
}

const STATUS: Readonly<Record<string, object>> = {
  'event-bus': {
    streams: [{ stream: 'EVENTS', messages: 12, bytes: 100, maxBytes: 1_000, share: 0.1 }],
    lags: [
      { stream: 'EVENTS', reader: 'store', pending: 3, unacknowledged: 2 },
      { stream: 'PUBLICATIONS', reader: 'host-gone', pending: 40, unacknowledged: 0 },
    ],
  },
  'req-gateway': {
    answered: 100,
    workers: { classes: { aes: { waiting: 5, inFlight: 9 } } },
    sealed: { kept: 4 },
  },
  'worker-pool': {
    requests: { hand: { aes: 8 }, running: { aes: 6 } },
  },
  'runner-pool': { presence: { present: 48 } },
};

/** One host with all services, as it serves; `more` comes besides. */
export function sampleCluster(more: readonly object[] = []): Cluster {
  const names = [
    'event-bus',
    'job-cache-returner',
    'worker-pool',
    'publisher',
    'req-gateway',
    'runner-pool',
  ];
  const services = names.map((name, at) =>
    toldBy(name, { pid: 10 + at, status: STATUS[name] ?? {} }),
  );
  return clusterOf({ services: [...services, ...more], leftOut: 0 });
}
