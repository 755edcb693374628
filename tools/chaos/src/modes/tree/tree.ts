import { setTimeout as sleep } from 'node:timers/promises';
import { loadMasterConfig } from '@brine/config';
import { BrineMaster, startNats } from '@brine/testing';
import { FaultProxy } from '../../fault-proxy.ts';
import { Installation } from '../../installation.ts';
import { asSyndic, SecondRelay } from './second-relay.ts';

/** Jobs are closed so soon, in s, as in the runs on one master. */
const JOB_DEADLINE_S = 15;
/** The master above is reached through proxies here, under the numbers of its own ports. */
const LINK_HOST = '127.0.0.2';
const RELAYS_TIMEOUT_MS = 90_000;
const HEARD = 'the master above is heard';
const POLL_MS = 100;

/** The connections between the masters. */
export type TreeLinks = Readonly<Record<'publish' | 'request', FaultProxy>>;

/** A Brine master below a Brine master, with two relays and a proxy in each way between. */
export interface Tree {
  readonly above: BrineMaster;
  readonly below: BrineMaster;
  readonly relay: SecondRelay;
  readonly links: TreeLinks;
  /** Ends it; with `keep` the directories stay, whose paths this gives. */
  close(keep: boolean): Promise<readonly string[]>;
}

/** Starts all of it until both relays hear the master above. Throws Error where they do not. */
export async function startTree(workers: number): Promise<Tree> {
  const endings: (() => Promise<void>)[] = [];
  const end = async (): Promise<void> => {
    for (const one of endings.splice(0).reverse()) await one();
  };
  const own = async <T>(made: Promise<T>, close: (one: T) => Promise<void>): Promise<T> => {
    const one = await made;
    endings.push(() => close(one));
    return one;
  };
  const closed = (one: { close(): Promise<void> }): Promise<void> => one.close();
  try {
    const nats = await own(startNats({ streams: false }), closed);
    const above = await own(startAbove(workers), closed);
    const { publishPort, retPort } = above.home;
    const link = (port: number): Promise<FaultProxy> =>
      own(
        FaultProxy.listen(async () => ({ host: '127.0.0.1', port }), LINK_HOST, port),
        closed,
      );
    const links = { publish: await link(publishPort), request: await link(retPort) };
    const below = await own(startBelow(workers, nats.urls.admin, retPort), closed);
    const relay = await own(SecondRelay.start(below, nats.urls['syndic-relay']), closed);
    await bothHear(below, relay);
    const close = async (keep: boolean): Promise<readonly string[]> => {
      const kept = keep ? [above.sandbox.keepLogs(), below.sandbox.keepLogs()] : [];
      await end();
      return kept;
    };
    return { above, below, relay, links, close };
  } catch (error) {
    await end();
    throw error;
  }
}

/** A master as the checks see it. */
export function installationOf({ home }: BrineMaster, env: NodeJS.ProcessEnv = {}): Installation {
  return new Installation(loadMasterConfig({ configDir: home.configDir, env }).options);
}

function startAbove(workers: number): Promise<BrineMaster> {
  const brine = { workers, job_deadline: JOB_DEADLINE_S };
  return BrineMaster.start(
    { order_masters: true, master_id: 'above', auto_accept: true, brine },
    { logLevel: 'warning' },
  );
}

function startBelow(workers: number, natsUrl: string, upperPort: number): Promise<BrineMaster> {
  const brine = { workers, job_deadline: JOB_DEADLINE_S };
  return BrineMaster.start(
    { id: 'below', syndic_master: `${LINK_HOST}:${upperPort}`, brine },
    {
      logLevel: 'info',
      env: { NATS_URL: natsUrl },
      onHome: (home) => asSyndic(home.configDir, 'syndic-1'),
    },
  );
}

async function bothHear(below: BrineMaster, relay: SecondRelay): Promise<void> {
  const until = Date.now() + RELAYS_TIMEOUT_MS;
  for (;;) {
    const logs = await Promise.all([below.log(), relay.log()]);
    if (logs.every((log) => log.includes(HEARD))) return;
    if (Date.now() > until) throw new Error(`no relay hears:\n${logs.join('\n').slice(-4_000)}`);
    await sleep(POLL_MS);
  }
}
