import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { isRecord } from '../connection/js-api.ts';
import { getBody } from '../streams/bodies.ts';
import type { Received } from '../streams/stream-reader.ts';
import { isPublicationKind, SERVICE_INBOXES } from '../subjects/names.ts';
import type { Again, Marker } from './again-record.ts';
import { readAgain } from './again-record.ts';
import type { JobRecord } from './job-record.ts';
import { unpackJob } from './job-record.ts';

/** The headers of a publication. */
export const PUBLICATION_HEADERS = {
  written: 'Brine-Written',
  reference: 'Brine-Body',
} as const;

/** What every message of PUBLICATIONS tells. */
export interface PublishedBase {
  readonly seq: number;
  /** When the stream was made; sequences mean something only within one incarnation. */
  readonly incarnation: string;
  /** When the stream stored it, in microseconds since 1970: the serial of the publication. */
  readonly timeUs: number;
  /** 1 the first time; more after a missing ack. */
  readonly deliveries: number;
  /** Tells the worker that waits for it what has been derived: `store`, `host:<name>`. */
  readonly written: (by: string) => void;
  /** Where it stands in the stream. */
  readonly subject: string;
  /** Tells that it could not be handled: it comes again some times, then moves aside. */
  readonly failed: (error: unknown) => void;
  /** Tells the stream that this durable reader is done with it. */
  readonly ack: () => void;
  /** Asks for it again after some ms. */
  readonly nak: (delayMs: number) => void;
}

/** One message of PUBLICATIONS. */
export type Published = PublishedBase &
  (
    | { readonly kind: 'job'; readonly record: JobRecord }
    | { readonly kind: 'again'; readonly again: Again }
    | { readonly kind: 'marker'; readonly marker: Marker }
  );

/**
 * Reads a publication, its body too if that is elsewhere; undefined for what is none of ours.
 * @throws BusError `BUS_BODY_GONE` and as `Inbox.request` does.
 */
export async function readPublished(bus: Bus, received: Received): Promise<Published | undefined> {
  const kind = received.subject.split('.')[2] ?? '';
  if (!isPublicationKind(kind)) return undefined;
  const base = baseOf(bus, received);
  try {
    const reference = received.header(PUBLICATION_HEADERS.reference);
    const bytes = reference === '' ? received.data : await getBody(bus, 'pub', reference);
    if (kind === 'job') return { ...base, kind, record: unpackJob(bytes) };
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (kind === 'again') {
      const again = readAgain(value);
      return again === undefined ? undefined : { ...base, kind, again };
    }
    const marker = readMarker(value);
    return marker === undefined ? undefined : { ...base, kind, marker };
  } catch (error) {
    // What is not readable now never will be; what could not be fetched may be later.
    if (error instanceof SyntaxError) return undefined;
    if (error instanceof BusError && error.code === 'BUS_BAD_MESSAGE') return undefined;
    throw error;
  }
}

function baseOf(bus: Bus, received: Received): PublishedBase {
  const inbox = received.header(PUBLICATION_HEADERS.written);
  return {
    seq: received.seq,
    incarnation: received.incarnation,
    timeUs: received.timeUs,
    deliveries: received.deliveries,
    written: (by) => {
      // Only a worker's inbox: a subject of a stream here would store the answer as an event.
      if (inbox.startsWith(`${SERVICE_INBOXES['worker-pool']}.`) && !bus.connection.isClosed()) {
        bus.connection.publish(inbox, by);
      }
    },
    subject: received.subject,
    failed: received.failed,
    ack: () => received.settle('+ACK'),
    nak: (delayMs) => received.settle(`-NAK {"delay":${Math.round(delayMs * 1e6)}}`),
  };
}

function readMarker(value: unknown): Marker | undefined {
  const epoch = isRecord(value) ? value['epoch'] : undefined;
  return typeof epoch === 'number' && Number.isSafeInteger(epoch) ? { epoch } : undefined;
}
