import { setTimeout as sleep } from 'node:timers/promises';
import { Releasers } from '@brine/service';
import { Swarm } from '@brine/swarm';
import type { BrineMaster } from '@brine/testing';
import { HostGroup } from '@brine/testing/nodes';
import pg from 'pg';
import { MINIONS_PER_PROCESS } from '../load/fleet.ts';
import { COMMON_CONFIG } from '../masters/master.ts';
import { ProcessTree, total, totalPss } from '../measure/process-tree.ts';
import { type Cell, cellOf, type Figure, figureOf } from '../report/figure.ts';
import type { Row, RowContext } from './row.ts';

/** Minions of one host: a process of a test machine may open 20,000 files. */
const HOST_MINIONS_MAX = 12_500;
const MINIONS = 50_000;
/** Log-ins on their way at once, of each host. */
const IN_FLIGHT = 64;
const JOBS = 3;
const JOB_WAIT_MS = 120_000;
const POLL_MS = 100;
const KIB_PER_MIB = 1_024;

/** One master on several hosts, which share NATS and PostgreSQL, and a fleet dealt out to them. */
export const HOSTS_ROW: Row = {
  name: 'hosts',
  about: `${MINIONS.toLocaleString('en-US')} minions on hosts of ${HOST_MINIONS_MAX}`,
  inTable: false,
  run: runHosts,
};

interface Host {
  readonly master: BrineMaster;
  readonly swarm: Swarm;
}

async function runHosts({ say, minionsMax }: RowContext): Promise<readonly Figure[]> {
  const minions = Math.min(MINIONS, minionsMax);
  const count = Math.ceil(minions / HOST_MINIONS_MAX);
  await using releasers = new Releasers();
  const group = await HostGroup.start();
  releasers.add(() => group.close());
  const { nats, postgres } = group;
  const hosts: Host[] = [];
  for (let at = 0; at < count; at += 1) {
    say(`hosts: ${at + 1} of ${count} starts`);
    hosts.push(await startHost(releasers, { at, count, minions, group }));
  }
  const trees = [
    ...hosts.map(({ master }) => master.pid ?? 0),
    nats.server.pid ?? 0,
    postgres.pid(),
  ].map((pid) => new ProcessTree(pid));
  const pool = new pg.Pool({ connectionString: postgres.url, max: 1 });
  releasers.add(() => pool.end());

  say(`hosts: ${minions} minions log in`);
  const rest = await pssOf(trees);
  const cpu = await cpuOf(trees);
  const startedAt = performance.now();
  const logIns = await Promise.all(
    hosts.map(({ swarm }) => swarm.connect({ inFlight: IN_FLIGHT })),
  );
  const loggedInMs = performance.now() - startedAt;
  const logInCpu = (await cpuOf(trees)) - cpu;
  const answered = logIns.reduce((sum, one) => sum + one.answered, 0);
  const grown = (await pssOf(trees)) - rest;

  const seconds: number[] = [];
  const complete: number[] = [];
  for (let job = 0; job < JOBS; job += 1) {
    say(`hosts: test.ping of ${minions}, ${job + 1} of ${JOBS}`);
    const from = hosts[job % hosts.length];
    if (from === undefined) break;
    const { ms, returns } = await ping(from, pool, minions);
    seconds.push(ms / 1_000);
    complete.push((100 * returns) / minions);
  }
  const line = (name: string, unit: Figure['unit'], cell: Cell): Figure =>
    figureOf({
      row: 'hosts',
      name,
      unit,
      better: unit === '%' ? 'more' : 'less',
      cells: { brine: cell },
    });
  const resent = logIns.reduce((sum, one) => sum + one.resent, 0);
  const note = `${answered} of ${minions}, ${resent} re-sent`;
  return [
    line(`${count} hosts: all logged in after`, 's', cellOf([loggedInMs / 1_000], { note })),
    line('CPU per log-in', 'µs', cellOf([(logInCpu * 1e6) / answered])),
    line('memory at rest (PSS)', 'MiB', cellOf([rest / KIB_PER_MIB])),
    line('memory per minion (PSS)', 'KiB', cellOf([grown / minions])),
    line('test.ping: last return in the store', 's', cellOf(seconds)),
    line('test.ping: complete', '%', cellOf(complete)),
  ];
}

async function startHost(
  releasers: Releasers,
  host: {
    readonly at: number;
    readonly count: number;
    readonly minions: number;
    readonly group: HostGroup;
  },
): Promise<Host> {
  const { at, count, minions, group } = host;
  // An address of its own: 28,000 local ports reach one port of an address.
  const address = `127.0.0.${at + 2}`;
  const config = { ...COMMON_CONFIG, interface: address, brine: { workers: 1 } };
  const master = await group.add(`host-${at + 1}`, config);
  const own = Math.floor(((at + 1) * minions) / count) - Math.floor((at * minions) / count);
  const swarm = await Swarm.start({
    host: address,
    retPort: master.home.retPort,
    publishPort: master.home.publishPort,
    minions: own,
    processes: Math.ceil(own / MINIONS_PER_PROCESS),
    idPrefix: `host-${at + 1}-`,
  });
  releasers.add(() => swarm.close());
  return { master, swarm };
}

/** A job to all minions, published at one host, until its returns are in the store. */
async function ping(
  { master, swarm }: Host,
  pool: pg.Pool,
  minions: number,
): Promise<{ readonly ms: number; readonly returns: number }> {
  const startedAt = performance.now();
  const cachedir = master.home.cacheDir;
  // It follows the minions of its own host; those of the others are counted in the store.
  const { jid } = await swarm.publish({ cachedir, target: '*', waitMs: JOB_WAIT_MS });
  const until = performance.now() + JOB_WAIT_MS;
  for (;;) {
    const query = 'SELECT count(*) AS count FROM brine.returns WHERE jid = $1';
    const { rows } = await pool.query<{ count: string }>(query, [jid ?? '']);
    const returns = Number(rows[0]?.count);
    const now = performance.now();
    if (returns >= minions || now > until) return { ms: now - startedAt, returns };
    await sleep(POLL_MS);
  }
}

async function pssOf(trees: readonly ProcessTree[]): Promise<number> {
  const sizes = await Promise.all(trees.map((tree) => tree.sizes()));
  return sizes.reduce((sum, one) => sum + totalPss(one), 0);
}

async function cpuOf(trees: readonly ProcessTree[]): Promise<number> {
  const used = await Promise.all(trees.map((tree) => tree.cpu()));
  return used.reduce((sum, one) => sum + total(one), 0);
}
