import { clientInterface, type MasterOptions } from '@brine/config';
import { sleepUnless } from '@brine/tasks';
import { isMap, mapOf, unpack } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import { RequestClient, tcpEndpoint } from '@brine/zmq';

const ASK_MS = 5_000;
const PAUSE_MS = 200;

/**
 * Resolves with true once the request port has answered a ping, which takes the way of any request
 * through a gateway and a worker. Resolves with false if the signal is aborted first. Without a
 * fixed port it resolves at once.
 */
export async function untilAnswers(options: MasterOptions, signal: AbortSignal): Promise<boolean> {
  if (options.retPort === 0) return !signal.aborted;
  const body = clearEnvelope(mapOf({ cmd: 'ping' }));
  while (!signal.aborted) {
    const client = new RequestClient({
      endpoint: tcpEndpoint(clientInterface(options), options.retPort),
    });
    try {
      const reply = unpack(await client.request(body, { timeoutMs: ASK_MS, signal }));
      if (isMap(reply) && reply.get('cmd') === 'ping') return true;
    } catch {
      // No answer yet: retry until the caller's signal is aborted.
    } finally {
      await client.close();
    }
    await sleepUnless(PAUSE_MS, signal);
  }
  return false;
}
