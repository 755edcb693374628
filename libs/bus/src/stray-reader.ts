import type { Bus } from '../connection/connect.ts';
import { headersIn } from '../connection/headers.ts';
import { isNewer } from '../connection/message-version.ts';
import { EventMessage } from '../events/event-reader.ts';
import type { Published } from '../jobs/publication.ts';
import { readPublished } from '../jobs/publication.ts';
import { STREAMS } from '../subjects/names.ts';
import type { StrayMessage } from './stray.ts';
import type { Received } from './stream-reader.ts';

/**
 * Reads a stray again, as a later release may be able to; undefined where it is still none of ours.
 * @throws BusError where its body can not be fetched.
 */
export async function readStray(
  bus: Bus,
  { stream, headers, ...message }: StrayMessage,
): Promise<EventMessage | Published | undefined> {
  const header = headersIn(headers);
  if (isNewer(header)) return undefined;
  const received: Received = {
    ...message,
    header,
    headers: () => headers,
    settle: () => undefined,
    failed: () => undefined,
    consumerSeq: 0,
    pending: 0,
    deliveries: 1,
  };
  if (stream === STREAMS.events) return EventMessage.read(bus, received);
  return readPublished(bus, received);
}
