import { BUCKETS, STREAMS } from '@brine/bus';
import type { JetStreamFacts } from '@brine/bus/rpc';
import type { DatabaseFacts } from '@brine/job-cache';
import { expect, test } from 'vitest';
import { sampleCluster, toldBy } from '../cluster-status/sample-cluster.fixture.ts';
import type { Finding } from '../findings/finding.ts';
import { checkBackends } from './check-backends.ts';
import { checkCluster } from './check-cluster.ts';
import { checkDisks, sizeText } from './check-disks.ts';
import { checkPorts } from './check-ports.ts';
import { checkPostgres } from './check-postgres.ts';
import { checkStreams } from './check-streams.ts';
import { checkSeen } from './examine.ts';
import type { DiskSeen } from './facts/disks.ts';

const GIB = 1024 ** 3;

const shown = (findings: readonly Finding[]) =>
  findings.map(({ level, check, text }) => `${level} ${check}: ${text}`);

const disk = (changed: Partial<DiskSeen>): DiskSeen => ({
  paths: ['/var/lib/brine'],
  bytes: 100 * GIB,
  freeBytes: 50 * GIB,
  files: 1_000,
  freeFiles: 900,
  ...changed,
});

test.each([
  [{}, ['ok disk']],
  [{ freeBytes: GIB }, ['bad disk']],
  [{ freeBytes: 9 * GIB }, ['warn disk']],
  // 5 % of a large disk are enough for a night.
  [{ bytes: 10_000 * GIB, freeBytes: 500 * GIB }, ['ok disk']],
  [{ freeFiles: 10 }, ['bad disk-files']],
  [{ files: 0, freeFiles: 0 }, ['ok disk']],
])('a disk with %j is %j', (changed, wanted) => {
  expect(shown(checkDisks([disk(changed)])).map((one) => one.split(':')[0])).toEqual(wanted);
});

test('sizes are read by people', () => {
  expect([0, 1023, 1536, 150 * 1024, 3 * GIB].map(sizeText)).toEqual([
    '0 B',
    '1023 B',
    '1.5 KiB',
    '150 KiB',
    '3.0 GiB',
  ]);
});

const port = (changed: object) => ({
  port: 4506,
  service: 'req-gateway',
  isListenedOn: true,
  by: '42 (main.js)',
  ...changed,
});

test('ports of a master that runs are listened on, and 4506 answers', () => {
  expect(shown(checkPorts([port({ answers: true })], true))).toEqual([
    'ok ports: the master serves 4506',
  ]);
  expect(shown(checkPorts([port({ isListenedOn: false })], true))[0]).toMatch(
    /^bad ports: nothing listens on port 4506/,
  );
  expect(shown(checkPorts([port({ answers: false })], true))[0]).toMatch(/answers no ping/);
});

test('ports that another process has are named before a start', () => {
  expect(shown(checkPorts([port({ by: '9 (salt-master)' })], false))).toEqual([
    'warn ports: port 4506 is taken by 9 (salt-master): no master can start until it is free',
  ]);
  expect(shown(checkPorts([port({ isListenedOn: false })], false))).toEqual([
    'ok ports: 4506 are free for the master',
  ]);
});

/** All streams, with what a test changes in one of them. */
function streams(changed: Readonly<Record<string, object>> = {}): JetStreamFacts {
  const names = [...Object.values(STREAMS), ...BUCKETS.map((bucket) => `KV_${bucket}`)];
  return {
    server: { name: 'n', version: '2.12.8', cluster: '' },
    account: { storage: 10, limits: { max_storage: 100 } },
    streams: names.map((name) => ({
      config: { name, max_bytes: 100, num_replicas: 1 },
      state: { bytes: 10 },
      ...changed[name],
    })),
    readers: {},
    unknown: {},
  };
}

test('streams that have room are well', () => {
  expect(shown(checkStreams(streams()))).toEqual([
    'ok streams: 22 streams and buckets have room, NATS 2.12.8',
  ]);
});

test('a stream that fills, one that is missing, and a full account are named', () => {
  expect(shown(checkStreams(streams({ EVENTS: { state: { bytes: 95 } } })))).toEqual([
    'bad stream-room: EVENTS is 95 % full: find the reader that is behind',
  ]);
  expect(shown(checkStreams(streams({ brine_bodies: { state: { bytes: 99 } } })))[0]).toMatch(
    /^ok/,
  );
  const facts = streams();
  const fewer = facts.streams.filter((_one, at) => at > 0);
  expect(shown(checkStreams({ ...facts, streams: fewer }))).toEqual([
    'bad streams: not there: EVENTS: the event-bus makes them at its start',
  ]);
  const account = { storage: 75, limits: { max_storage: 100 } };
  expect(shown(checkStreams({ ...facts, account }))[0]).toMatch(/^warn stream-room: .* 75 %/);
  const unlimited = { storage: 75, limits: { max_storage: -1 } };
  expect(shown(checkStreams({ ...facts, account: unlimited }))[0]).toMatch(/^ok/);
});

test('a copy that is behind, and a stream without a leader, are named', () => {
  const config = { name: 'EVENTS', max_bytes: 100, num_replicas: 3 };
  const of = (cluster: object) => streams({ EVENTS: { config, cluster } });
  const replicas = [
    { name: 'nats-2', current: true },
    { name: 'nats-3', current: false, offline: true },
  ];
  expect(shown(checkStreams(of({ leader: 'nats-1', replicas })))).toEqual([
    'warn stream-copies: EVENTS is not whole on nats-3: start that NATS server, or wait for it',
  ]);
  expect(shown(checkStreams(of({ replicas: [] })))[0]).toMatch(/^bad .* no leader/);
});

test('a reader that is behind is named with its service', () => {
  const store = { config: { durable_name: 'store' }, num_pending: 50_000 };
  const watch = { config: { name: 'x' }, num_pending: 50_000 };
  const readers = { EVENTS: [store, watch] };
  expect(shown(checkStreams({ ...streams(), readers }))).toEqual([
    'warn stream-readers: store is 50000 messages behind in EVENTS; it belongs to ' +
      'job-cache-returner: is PostgreSQL unreachable or slow?',
  ]);
});

test('a missing answer of NATS is no proof that all is well', () => {
  const facts = { ...streams(), streams: [], unknown: { 'STREAM.LIST': 'no rights' } };
  expect(shown(checkStreams(facts))).toEqual([
    'warn streams: NATS did not return STREAM.LIST: no rights',
  ]);
});

function database(changed: Partial<DatabaseFacts & { aheadMs: number }> = {}) {
  return {
    server: { standby: false, bytes: 5 * GIB },
    settings: { max_connections: '100', fsync: 'on' },
    connections: { total: 9, oldestTransactionSeconds: 1 },
    tables: [],
    standbys: [],
    schema: { quarantined: 0 },
    unknown: {},
    ...changed,
  };
}

test.each([
  [{}, /^ok postgres: 5\.0 GiB, 9 connections$/],
  [{ server: { standby: true } }, /^bad postgres: .* standby/],
  [{ settings: { fsync: 'off' } }, /^bad postgres-settings: fsync is off/],
  [{ connections: { total: 80 } }, /^warn postgres-connections: 80 of 100/],
  [{ connections: { total: 99 } }, /^bad postgres-connections/],
  [{ connections: { total: 1, oldestTransactionSeconds: 7_200 } }, /open for 120 minutes/],
  [{ tables: [{ table: 'brine.jobs', dead: 200_000, live: 10 }] }, /brine\.jobs has 200000 dead/],
  [{ standbys: [{ name: 'b', behindSeconds: 90 }] }, /standby b is 90 s behind/],
  [{ schema: { quarantined: 3 } }, /^warn quarantine: 3 rows/],
  [{ aheadMs: -5_000 }, /^warn clock-skew: PostgreSQL is 5\.0 s behind this host/],
  [{ unknown: { tables: 'no rights' } }, /did not return its tables: no rights/],
])('PostgreSQL with %j', (changed, wanted) => {
  expect(shown(checkPostgres(database(changed as Partial<DatabaseFacts>)))).toEqual([
    expect.stringMatching(wanted),
  ]);
});

/** A service of another host, whose clock is known to within some ms. */
const other = (aheadMs: number, changed: object = {}, withinMs = 5) =>
  toldBy('worker-pool', { host: 'b.example', machine: 'b', ...changed }, { aheadMs, withinMs });

const judged = (more: readonly object[], installed = '0.2.0') =>
  shown(checkCluster(sampleCluster(more), [], installed)).filter(
    (one) => !one.includes(' hosts: '),
  );

test('clocks of hosts that differ are named, beyond what the way of the answer explains', () => {
  expect(judged([other(900)])[1]).toBe(
    'ok clock-skew: the clocks of 2 hosts agree within a second',
  );
  expect(judged([other(3_200)])[1]).toBe(
    'warn clock-skew: b.example is 3.2 s ahead of a.example: let chrony keep their clocks',
  );
  expect(judged([other(-60_000)])[1]).toMatch(/^bad clock-skew: a\.example is 60\.0 s ahead of b/);
  expect(judged([other(3_200, {}, 4_000)])[1]).toMatch(/^ok/);
});

test('of a host the answer that took the shortest way counts', () => {
  expect(judged([other(9_000, {}, 5_000), other(10, { name: 'worker-pool-2' }, 2)])[1]).toMatch(
    /^ok/,
  );
});

test('several releases, and one that is installed and does not run, are named', () => {
  expect(judged([other(0, { release: '0.3.0' })]).at(-1)).toBe(
    'warn release-skew: services of several releases run: 0.2.0 on a.example; 0.3.0 on ' +
      'b.example: end the upgrade there',
  );
  expect(judged([], '0.3.0').at(-1)).toMatch(
    /0\.2\.0 runs, and 0\.3\.0 is installed here: `brine r/,
  );
  expect(judged([other(0, { release: '0.3.0', leaving: true, ready: false })]).at(-1)).toMatch(
    /^ok/,
  );
});

test('services that do not answer, and hosts that are gone, are named', () => {
  const found = shown(checkCluster(sampleCluster(), ['publisher'], '0.2.0'));
  expect(found).toContain(
    'bad services: publisher of this host does not answer: see `brine status --all`',
  );
  expect(found).toContain(
    'warn hosts: host gone is silent and 40 messages behind: start it, or forget it',
  );
});

test('an HTTP API without its port is named, and is no trouble of the cluster', () => {
  const [free, taken] = [{ endpoint: 'http://127.0.0.1:4507', connections: 0 }, { connections: 0 }];
  const found = (endpoints: unknown) =>
    judged([toldBy('http-api', { status: { endpoints } })]).filter((one) => !one.startsWith('ok'));
  expect(found([free])).toEqual([]);
  expect(found('none')).toEqual([]);
  expect(found([free, taken])).toEqual([
    'warn http: http-api on a does not listen: another program has the port; see its log',
  ]);
});

test('a server that an option names and that is away is named with the option', () => {
  const away = { option: 'gitfs_remotes', host: 'git.example', port: 22, why: 'ECONNREFUSED' };
  expect(shown(checkBackends([away, { option: 'x', host: 'y', port: 1 }]))).toEqual([
    'warn backends: gitfs_remotes names git.example:22, which can not be reached from here: ' +
      'ECONNREFUSED; start it, or open the way',
  ]);
  expect(checkBackends([])).toEqual([]);
});

test('what can not be asked is bad where a master runs', () => {
  const unseen = { unseen: 'no answer' };
  const seen = {
    disks: [],
    ports: [],
    silent: [],
    backends: [],
    cluster: unseen,
    streams: unseen,
    database: unseen,
  };
  const hint = 'see `brine status`, and run this as the user of the master';
  expect(shown(checkSeen({ ...seen, runs: true }))).toEqual([
    `bad services: not looked at: no answer; ${hint}`,
    `bad streams: not looked at: no answer; ${hint}`,
    `bad postgres: not looked at: no answer; ${hint}`,
  ]);
  expect(checkSeen({ ...seen, runs: false }).map(({ level }) => level)).toEqual([
    'warn',
    'warn',
    'warn',
  ]);
});
