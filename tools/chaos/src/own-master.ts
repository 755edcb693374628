import { loadMasterConfig } from '@brine/config';
import { BrineMaster } from '@brine/testing';
import { FaultProxy } from './fault-proxy.ts';
import type { Proxies } from './inject.ts';
import { Installation } from './installation.ts';
import type { Link } from './plan.ts';

/** Jobs are closed so soon, in s: a check after the drain sees them in their last state. */
const JOB_DEADLINE_S = 15;

/** A master of the run's own, as `brine master` starts it, with proxies in all its connections. */
export interface OwnMaster {
  readonly master: BrineMaster;
  readonly installation: Installation;
  readonly proxies: Required<Proxies>;
  /** Ends it; with `keep` its directory stays, whose path this gives. */
  close(keep: boolean): Promise<string | undefined>;
}

/** Starts it on loopback. Throws Error with the end of its log where it does not serve. */
export async function startOwnMaster(workers: number): Promise<OwnMaster> {
  let home: BrineMaster['home'] | undefined;
  let known: Installation | undefined;
  const installation = (): Installation => {
    if (home === undefined) throw new Error('the master has no directory yet');
    known ??= new Installation(loadMasterConfig({ configDir: home.configDir, env: {} }).options);
    return known;
  };
  const upstreams: Readonly<Record<Link, () => Promise<number>>> = {
    nats: once(() => installation().natsPort()),
    postgres: once(() => installation().postgresPort()),
    publish: async () => home?.publishPort ?? 0,
    request: async () => home?.retPort ?? 0,
  };
  const proxies = {
    nats: await FaultProxy.listen(upstreams.nats),
    postgres: await FaultProxy.listen(upstreams.postgres),
    publish: await FaultProxy.listen(upstreams.publish),
    request: await FaultProxy.listen(upstreams.request),
  };
  const closeProxies = async (): Promise<void> => {
    await Promise.all(Object.values(proxies).map((proxy) => proxy.close()));
  };
  const via = (proxy: FaultProxy): string => `127.0.0.1:${proxy.port}`;
  const config = {
    brine: {
      workers,
      job_deadline: JOB_DEADLINE_S,
      nats: { via: via(proxies.nats) },
      postgres: { via: via(proxies.postgres) },
    },
  };
  try {
    const onHome = (made: BrineMaster['home']): void => void (home = made);
    const master = await BrineMaster.start(config, { logLevel: 'warning', onHome });
    const close = async (keep: boolean): Promise<string | undefined> => {
      const dir = keep ? master.sandbox.keepLogs() : undefined;
      await master.close();
      await closeProxies();
      return dir;
    };
    return { master, installation: installation(), proxies, close };
  } catch (error) {
    await closeProxies();
    throw error;
  }
}

/** A server of the master keeps its port; its file is gone while it is dead. */
function once(port: () => Promise<number>): () => Promise<number> {
  let found: number | undefined;
  return async () => {
    if (found !== undefined) return found;
    const read = await port();
    if (!(read > 0)) throw new Error('the server has no port yet');
    found = read;
    return found;
  };
}
