import type { EventKind } from '@brine/job';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { isNewer } from '../connection/message-version.ts';
import { readEvents } from '../events/event-reader.ts';
import { readPublished } from '../jobs/publication.ts';
import type { Received } from '../streams/stream-reader.ts';
import { eventsOfJob } from './job-events.ts';
import type { ReadMessage, SideEvent } from './side.ts';

/** The known facts of an event before its body is read. */
export type Wanted = Pick<SideEvent, 'kind' | 'tag' | 'jid' | 'minion'>;

/**
 * The wanted events of a message of EVENTS.
 * @throws BusError `BUS_BAD_MESSAGE` for a message that this release can not read
 */
export function readEventMessage(
  bus: Bus,
  received: Received,
  fits: (event: Wanted) => boolean,
): ReadMessage {
  refuseNewer(received);
  const all = readEvents(bus, received, false);
  const events: { index: number; event: SideEvent }[] = [];
  all.forEach((message, index) => {
    if (!fits(message)) return;
    const { kind, tag, jid, minion, link, size } = message;
    const body = (): Promise<Uint8Array> => message.fetch();
    events.push({ index, event: { kind, tag, jid, minion, link, size, body } });
  });
  return { events, count: all.length };
}

/**
 * The wanted events of a job, out of its message in PUBLICATIONS.
 * @throws BusError `BUS_BAD_MESSAGE`, `BUS_BODY_GONE`, and as `Inbox.request` does
 */
export async function readJobMessage(
  bus: Bus,
  received: Received,
  fits: (event: Wanted) => boolean,
): Promise<ReadMessage> {
  refuseNewer(received);
  const published = await readPublished(bus, received);
  if (published === undefined) throw new BusError('BUS_BAD_MESSAGE', 'no publication of ours');
  const all = published.kind === 'job' ? eventsOfJob(published.job) : [];
  const events: { index: number; event: SideEvent }[] = [];
  all.forEach(({ kind, tag, jid, body }, index) => {
    if (!fits({ kind, tag, jid, minion: undefined })) return;
    events.push({ index, event: eventOf(kind, tag, jid, body) });
  });
  return { events, count: Math.max(1, all.length) };
}

function eventOf(kind: EventKind, tag: string, jid: string, body: () => Uint8Array): SideEvent {
  return {
    kind,
    tag,
    jid,
    minion: undefined,
    link: undefined,
    size: 0,
    body: async () => body(),
  };
}

function refuseNewer({ header }: Received): void {
  if (isNewer(header)) throw new BusError('BUS_BAD_MESSAGE', 'a message of a newer release');
}
