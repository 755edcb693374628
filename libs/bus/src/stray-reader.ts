import type { Bus } from './connection/connect.ts';
import { headersIn } from './connection/headers.ts';
import { isNewer } from './connection/message-version.ts';
import { EventMessage } from './events/event-reader.ts';
import type { Published } from './jobs/publication.ts';
import { readPublished } from './jobs/publication.ts';
import { withoutReader } from './streams/direct-get.ts';
import type { StrayMessage } from './streams/stray.ts';
import { STREAMS } from './subjects/names.ts';

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
  const received = withoutReader({ ...message, header, headers: () => headers });
  if (stream === STREAMS.events) return EventMessage.read(bus, received);
  return readPublished(bus, received);
}
