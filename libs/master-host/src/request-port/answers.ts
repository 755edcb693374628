import { clientInterface, type MasterOptions } from '@brine/config';
import { sleepUnless } from '@brine/tasks';
import { isMap, mapOf, unpack } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import { RequestClient, tcpEndpoint } from '@brine/zmq';

const ASK_MS = 5_000;
const PAUSE_MS = 200;

/**
 * Resolves with true once the request port has answered a ping, through a gateway and a worker as
 * any request; with false when the signal is aborted before. Without a fixed port there is nothing
 * to ask: then at once.
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
      // Not yet: it is asked again, and the caller's signal ends that.
    } finally {
      await client.close();
    }
    await sleepUnless(PAUSE_MS, signal);
  }
  return false;
}
