import type { Job } from '@brine/job';
import { Decoder, Encoder } from '@msgpack/msgpack';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { isRecord } from '../connection/js-api.ts';
import { getBody } from '../streams/bodies.ts';
import { nakAfter } from '../streams/pull-feed.ts';
import type { Received } from '../streams/stream-reader.ts';
import { isPublicationKind, SERVICE_INBOXES } from '../subjects/names.ts';

/** The headers of a publication. */
export const PUBLICATION_HEADERS = {
  written: 'Brine-Written',
  reference: 'Brine-Body',
} as const;

/** A repetition: a job that is to be sent once more, under the same jid and a new serial. */
export interface Again {
  readonly jid: string;
  /** The sequence of the job's own message in PUBLICATIONS. */
  readonly seq: number;
  /** In ms since 1970. */
  readonly notAfter: number;
  /** Set if few of its minions have not returned: the repetition is for these alone. */
  readonly waiting?: readonly string[];
  /**
   * Set if it is for some minions only, perhaps after the stream has dropped the job: these
   * minions, and the publication for them.
   */
  readonly only?: { readonly minions: readonly string[]; readonly publication: Uint8Array };
}

/** From here on the master AES key of this epoch is in force. */
export interface Marker {
  readonly epoch: number;
}

/** The fields that all messages of PUBLICATIONS have. */
export interface PublishedBase {
  readonly seq: number;
  /** When the stream was made; sequences mean something only within one incarnation. */
  readonly incarnation: string;
  /** When the stream stored it, in microseconds since 1970: the serial of the publication. */
  readonly timeUs: number;
  /** 1 the first time; more after a missing ack. */
  readonly deliveries: number;
  /** Notifies the waiting worker that `by` wrote its part: `store`, `host:<name>`. */
  readonly written: (by: string) => void;
  /** Its subject in the stream. */
  readonly subject: string;
  /** Reports that it could not be handled: it is delivered a few more times, then skipped. */
  readonly failed: (error: unknown) => void;
  /** Acknowledges: this durable reader is done with it. */
  readonly ack: () => void;
  /** Asks for another delivery after some ms. */
  readonly nak: (delayMs: number) => void;
}

/** One message of PUBLICATIONS. */
export type Published = PublishedBase &
  (
    | { readonly kind: 'job'; readonly job: Job }
    | { readonly kind: 'again'; readonly again: Again }
    | { readonly kind: 'marker'; readonly marker: Marker }
  );

/** A message of PUBLICATIONS that is a job. */
export type JobMessage = Published & { readonly kind: 'job' };

/**
 * Reads a publication, also its body if that is stored elsewhere. Undefined for a foreign message.
 * @throws BusError `BUS_BODY_GONE` and as `Inbox.request` does.
 */
export async function readPublished(bus: Bus, received: Received): Promise<Published | undefined> {
  const kind = received.subject.split('.')[2] ?? '';
  if (!isPublicationKind(kind)) return undefined;
  const base = baseOf(bus, received);
  try {
    const reference = received.header(PUBLICATION_HEADERS.reference);
    const bytes = reference === '' ? received.data : await getBody(bus, 'pub', reference);
    if (kind === 'job') return { ...base, kind, job: unpackJob(bytes) };
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (kind === 'again') {
      const again = readAgain(value);
      return again === undefined ? undefined : { ...base, kind, again };
    }
    const marker = readMarker(value);
    return marker === undefined ? undefined : { ...base, kind, marker };
  } catch (error) {
    // A malformed message stays malformed; a failed fetch may succeed later.
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
      // Only an inbox: a subject of a stream here would store the answer as an event.
      if (PUBLISHED_BY.some((service) => inbox.startsWith(`${SERVICE_INBOXES[service]}.`))) {
        if (!bus.connection.isClosed()) bus.connection.publish(inbox, by);
      }
    },
    subject: received.subject,
    failed: received.failed,
    ack: () => received.settle('+ACK'),
    nak: (delayMs) => received.settle(nakAfter(delayMs)),
  };
}

/** The services that publish jobs and may wait for their files. */
const PUBLISHED_BY = ['worker-pool', 'runner-pool'] as const;

function readMarker(value: unknown): Marker | undefined {
  const epoch = isRecord(value) ? value['epoch'] : undefined;
  return typeof epoch === 'number' && Number.isSafeInteger(epoch) ? { epoch } : undefined;
}

const FORMAT = 1;
const encoder = new Encoder({ ignoreUndefined: true });
const decoder = new Decoder();

/** Packs a job: msgpack of its fields by their names. */
export function packJob(job: Job): Uint8Array {
  return encoder.encode({ ...job, format: FORMAT });
}

/**
 * Reads a packed job.
 * @throws BusError `BUS_BAD_MESSAGE` for anything that {@link packJob} did not make.
 */
export function unpackJob(bytes: Uint8Array): Job {
  let value: unknown;
  try {
    value = decoder.decode(bytes);
  } catch (error) {
    throw new BusError('BUS_BAD_MESSAGE', 'a job is not valid msgpack', error);
  }
  if (!isJob(value)) throw new BusError('BUS_BAD_MESSAGE', 'a job has a missing or bad field');
  const { format: _format, ...job } = value;
  return job;
}

function isJob(value: unknown): value is Job & { readonly format: number } {
  if (typeof value !== 'object' || value === null) return false;
  const job = value as Record<string, unknown>;
  const texts = ['jid', 'principal', 'user', 'tgtType', 'host', 'requestId'];
  const times = ['publishedAt', 'deadlineAt', 'notAfter'];
  return (
    job['format'] === FORMAT &&
    texts.every((key) => typeof job[key] === 'string') &&
    times.every((key) => typeof job[key] === 'number') &&
    job['publication'] instanceof Uint8Array &&
    job['load'] instanceof Uint8Array &&
    (typeof job['fun'] === 'string' || isTexts(job['fun'])) &&
    (typeof job['tgt'] === 'string' || isTexts(job['tgt'])) &&
    isTexts(job['minions']) &&
    isTexts(job['missing']) &&
    (job['piece'] === undefined || typeof job['piece'] === 'string') &&
    (job['durable'] === undefined || typeof job['durable'] === 'boolean') &&
    (job['origin'] === undefined || typeof job['origin'] === 'string') &&
    typeof job['hidden'] === 'boolean'
  );
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** Packs an {@link Again}: JSON, its publication in base64. */
export function packAgain({ only, ...again }: Again): Buffer {
  const base64 = only && Buffer.from(only.publication).toString('base64');
  const restricted = only && { only: { minions: only.minions, publication: base64 } };
  return Buffer.from(JSON.stringify({ ...again, ...restricted }));
}

/** Reads the JSON of {@link packAgain}; undefined for anything else. */
export function readAgain(value: unknown): Again | undefined {
  if (!isRecord(value)) return undefined;
  const { jid, seq, notAfter, waiting } = value;
  if (typeof jid !== 'string' || typeof seq !== 'number') return undefined;
  if (typeof notAfter !== 'number') return undefined;
  if (waiting !== undefined) {
    return isListOfIds(waiting) ? { jid, seq, notAfter, waiting } : undefined;
  }
  if (value['only'] === undefined) return { jid, seq, notAfter };
  const only = readOnly(value['only']);
  return only && { jid, seq, notAfter, only };
}

function readOnly(value: unknown): Again['only'] {
  if (!isRecord(value)) return undefined;
  const { minions, publication } = value;
  if (!isListOfIds(minions) || typeof publication !== 'string') return undefined;
  return { minions, publication: Buffer.from(publication, 'base64') };
}

function isListOfIds(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((id) => typeof id === 'string');
}
