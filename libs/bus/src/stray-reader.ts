import type { Bus } from './connection/connect.ts';
import { headersIn } from './connection/headers.ts';
import { isNewer } from './connection/message-version.ts';
import type { EventMessage } from './events/event-reader.ts';
import { readEvents } from './events/event-reader.ts';
import type { Published } from './jobs/publication.ts';
import { readPublished } from './jobs/publication.ts';
import { withoutReader } from './streams/direct-get.ts';
import type { StrayMessage } from './streams/stray.ts';
import { STREAMS } from './subjects/names.ts';

/**
 * Reads a stray again, as a later release may be able to; undefined if it is still none of ours. A
 * stray of EVENTS may be a page of several events.
 * @throws BusError if its body can not be fetched, or it is no event.
 */
export async function readStray(
  bus: Bus,
  { stream, headers, ...message }: StrayMessage,
): Promise<readonly EventMessage[] | Published | undefined> {
  const header = headersIn(headers);
  if (isNewer(header)) return undefined;
  const received = withoutReader({ ...message, header, headers: () => headers });
  if (stream === STREAMS.events) return readEvents(bus, received, false);
  return readPublished(bus, received);
}
