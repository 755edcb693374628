import { setTimeout as sleep } from 'node:timers/promises';
import { type SaltPorts, waitForPort, ZmtpPeer } from '@brine/testing';
import { mapOf } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';

const POLL_MS = 20;
const ANSWER_MS = 2_000;
/** A first start of Brine sets up PostgreSQL and may install nats-server. */
const START_TIMEOUT_MS = 120_000;

/**
 * Time in ms from now until a master really serves: 4506 answers a `ping` (a worker answers it, see
 * salt/master.py ClearFuncs.ping), and 4505 is open.
 * @throws Error when the time is up.
 */
export async function timeUntilServing(ports: SaltPorts): Promise<number> {
  const since = performance.now();
  const until = Date.now() + START_TIMEOUT_MS;
  while (!(await answersPing(ports.retPort))) {
    if (Date.now() > until) throw new Error(`no answer on port ${ports.retPort}`);
    await sleep(POLL_MS);
  }
  await waitForPort(ports.publishPort, Math.max(1, until - Date.now()));
  return performance.now() - since;
}

async function answersPing(port: number): Promise<boolean> {
  let peer: ZmtpPeer | undefined;
  try {
    peer = await ZmtpPeer.open({ port });
    await peer.request(clearEnvelope(mapOf({ cmd: 'ping' })), ANSWER_MS);
    return true;
  } catch {
    // Refused, closed or silent: it does not serve yet, the caller asks again.
    return false;
  } finally {
    peer?.close();
  }
}
