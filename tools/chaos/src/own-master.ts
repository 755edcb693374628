import { join } from 'node:path';
import { BrineMaster } from '@brine/testing';
import { type Address, FaultProxy } from './fault-proxy.ts';
import type { FaultTools, Proxies } from './inject.ts';
import type { Installation } from './installation.ts';
import { type Disk, DISKS, type FaultKind, type Link, LINKS, type Wire } from './plan.ts';
import { SmallDisk } from './small-disk.ts';
import { installationOf } from './start-master.ts';
import { Wires } from './wires.ts';

/** Deadline of jobs, in s: short, so that a check after the drain sees their final state. */
const JOB_DEADLINE_S = 15;
/** Size of a disk in memory, which is used only for written data; a run of hours writes less. */
const DISK_BYTES = 1_500 * 1_048_576;

const WIRE_OF: Readonly<Record<Link, Wire>> = {
  nats: 'nats',
  postgres: 'postgres',
  publish: 'minions',
  request: 'minions',
};

/** The run's own master, started by `brine master`, with proxies in all its connections. */
export interface OwnMaster {
  readonly master: BrineMaster;
  readonly installation: Installation;
  readonly tools: FaultTools;
  /** Addresses for minions. */
  readonly entries: Readonly<Record<'publish' | 'request', Address>>;
  /** Ends it; with `keep` its directory stays. Returns the path of that. */
  close(keep: boolean): Promise<string | undefined>;
}

/**
 * Starts it, with its own disks and wires if a kind of fault needs them and this process may make
 * them. Throws Error with the end of its log if it does not serve.
 */
export async function startOwnMaster(
  workers: number,
  kinds: readonly FaultKind[],
): Promise<OwnMaster> {
  const wires = kinds.includes('partition') ? await Wires.open() : undefined;
  const disks: Partial<Record<Disk, SmallDisk>> = {};
  let home: BrineMaster['home'] | undefined;
  const proxies = await listenAll(wires, () => home);
  const closeNet = async (): Promise<void> => {
    await wires?.close();
    await Promise.all(LINKS.map((link) => proxies[link].close()));
  };
  try {
    const entries = await entriesOf(proxies, wires);
    const via = ({ host, port }: Address): string => `${host}:${port}`;
    const config = {
      brine: {
        workers,
        job_deadline: JOB_DEADLINE_S,
        // The wires of a namespace have private addresses.
        nats: { plain: true },
        testing: { nats_via: via(entries.nats), postgres_via: via(entries.postgres) },
      },
    };
    const onHome = async (made: BrineMaster['home']): Promise<void> => {
      home = made;
      if (!kinds.includes('full')) return;
      for (const disk of DISKS) {
        const mounted = await SmallDisk.mount(join(made.cacheDir, 'brine', disk), DISK_BYTES);
        if (mounted !== undefined) disks[disk] = mounted;
      }
    };
    const master = await BrineMaster.start(config, { logLevel: 'warning', onHome });
    const close = async (keep: boolean): Promise<string | undefined> => {
      const dir = keep ? master.sandbox.keepLogs() : undefined;
      await master.stop();
      for (const disk of DISKS) await disks[disk]?.unmount(keep);
      await master.close();
      await closeNet();
      return dir;
    };
    const tools = { proxies, disks, wires };
    return { master, installation: installationOf(master.home), tools, entries, close };
  } catch (error) {
    for (const disk of DISKS) await disks[disk]?.unmount(false);
    await closeNet();
    throw error;
  }
}

/** One proxy per link; servers are found once the master has its directory. */
async function listenAll(
  wires: Wires | undefined,
  home: () => BrineMaster['home'] | undefined,
): Promise<Required<Proxies>> {
  const found = new Map<Link, number>();
  const upstream = (link: Link, port: (home: BrineMaster['home']) => Promise<number> | number) => {
    return async (): Promise<Address> => {
      const made = home();
      if (made === undefined) throw new Error('the master has no directory yet');
      // A server of the master keeps its port, but its file is missing while it is dead.
      const known = found.get(link) ?? (await port(made));
      if (!(known > 0)) throw new Error(`${link} has no port yet`);
      found.set(link, known);
      return { host: '127.0.0.1', port: known };
    };
  };
  const listen = (
    link: Link,
    port: (home: BrineMaster['home']) => Promise<number> | number,
  ): Promise<FaultProxy> => FaultProxy.listen(upstream(link, port), wires?.near(WIRE_OF[link]));
  return {
    nats: await listen('nats', (made) => installationOf(made).natsPort()),
    postgres: await listen('postgres', (made) => installationOf(made).postgresPort()),
    publish: await listen('publish', (made) => made.publishPort),
    request: await listen('request', (made) => made.retPort),
  };
}

/** The entry of each link: the far end of its wire, or the proxy itself. */
async function entriesOf(
  proxies: Required<Proxies>,
  wires: Wires | undefined,
): Promise<Readonly<Record<Link, Address>>> {
  const own = LINKS.map((link) => ({ wire: WIRE_OF[link], port: proxies[link].port }));
  const far = (await wires?.relay(own)) ?? own.map(({ port }) => ({ host: '127.0.0.1', port }));
  const entries = LINKS.map((link, index) => [link, far[index]] as const);
  return Object.fromEntries(entries) as Record<Link, Address>;
}
