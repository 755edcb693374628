import { Bucket, type Bus } from '@brine/bus';
import { neededFrom } from '@brine/event-return';

/**
 * The positions from which on `event_return` still needs events. It keeps its places itself, since
 * a durable reader of NATS would get events out of their order after a crash.
 */
export async function neededEvents(bus: Bus): Promise<readonly string[]> {
  const records: { value: Uint8Array; timeMs: number }[] = [];
  for await (const record of new Bucket(bus, 'brine_event_return').entries()) records.push(record);
  return neededFrom(records, Date.now());
}
