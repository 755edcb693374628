import { setTimeout as sleep } from 'node:timers/promises';
import { type BrineMaster, startNats } from '@brine/testing';
import { FaultProxy } from '../../fault-proxy.ts';
import type { Run } from '../../run.ts';
import { startMaster } from '../../start-master.ts';
import { asSyndic, SecondRelay } from './second-relay.ts';

/** Deadline of jobs, in s, as in the runs on one master. */
const JOB_DEADLINE_S = 15;
/** The master above is reached through proxies here, under the numbers of its own ports. */
const LINK_HOST = '127.0.0.2';
const RELAYS_TIMEOUT_MS = 90_000;
const CONNECTED = 'receiving jobs of the master above';
const POLL_MS = 100;

/** The connections between the masters. */
export type TreeLinks = Readonly<Record<'publish' | 'request', FaultProxy>>;

/** A Brine master below a Brine master, with two relays and a proxy for each link. */
export interface Tree {
  readonly above: BrineMaster;
  readonly below: BrineMaster;
  readonly relay: SecondRelay;
  readonly links: TreeLinks;
}

/** Starts everything; both relays then follow the master above. Throws Error if not. */
export async function startTree(run: Run, workers: number): Promise<Tree> {
  const nats = await ended(run, startNats({ streams: false }));
  const above = await startAbove(run, workers);
  const { publishPort, retPort } = above.home;
  const link = (port: number): Promise<FaultProxy> =>
    ended(
      run,
      FaultProxy.listen(async () => ({ host: '127.0.0.1', port }), LINK_HOST, port),
    );
  const links = { publish: await link(publishPort), request: await link(retPort) };
  const below = await startBelow(run, workers, nats.urls.admin, retPort);
  const relay = await ended(run, SecondRelay.start(below, nats.urls['syndic-relay']));
  await bothFollow(below, relay);
  return { above, below, relay, links };
}

/** Makes something end with the run. */
async function ended<T extends { close(): Promise<void> }>(run: Run, made: Promise<T>): Promise<T> {
  const one = await made;
  run.onEnd(() => one.close());
  return one;
}

function startAbove(run: Run, workers: number): Promise<BrineMaster> {
  const brine = { workers, job_deadline: JOB_DEADLINE_S };
  return startMaster(
    run,
    { order_masters: true, master_id: 'above', auto_accept: true, brine },
    { logLevel: 'warning' },
  );
}

function startBelow(
  run: Run,
  workers: number,
  natsUrl: string,
  upperPort: number,
): Promise<BrineMaster> {
  const brine = { workers, job_deadline: JOB_DEADLINE_S };
  return startMaster(
    run,
    { id: 'below', syndic_master: `${LINK_HOST}:${upperPort}`, brine },
    {
      logLevel: 'info',
      env: { NATS_URL: natsUrl },
      onHome: (home) => asSyndic(home.configDir, 'syndic-1'),
    },
  );
}

async function bothFollow(below: BrineMaster, relay: SecondRelay): Promise<void> {
  const until = Date.now() + RELAYS_TIMEOUT_MS;
  for (;;) {
    const logs = await Promise.all([below.log(), relay.log()]);
    if (logs.every((log) => log.includes(CONNECTED))) return;
    if (Date.now() > until)
      throw new Error(
        `a relay does not follow the master above:\n${logs.join('\n').slice(-4_000)}`,
      );
    await sleep(POLL_MS);
  }
}
