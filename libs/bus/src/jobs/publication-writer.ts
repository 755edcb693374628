import type { Job } from '@brine/job';
import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { MESSAGE_VERSION, VERSION_HEADER } from '../connection/message-version.ts';
import type { Appended } from '../streams/append.ts';
import { append, newMessageId } from '../streams/append.ts';
import { INLINE_MAX_BYTES, putBody } from '../streams/bodies.ts';
import { readStored } from '../streams/direct-get.ts';
import { escapeHeader } from '../subjects/escape.ts';
import { STREAMS, subjects } from '../subjects/names.ts';
import type { Again, Marker } from './publication.ts';
import { packAgain, packJob, PUBLICATION_HEADERS, readPublished } from './publication.ts';

const VERSION = { [VERSION_HEADER]: String(MESSAGE_VERSION) } as const;

/** Where a job was stored; for a duplicate, `job` is the job that was stored the first time. */
export interface AppendedJob extends Appended {
  readonly job: Job;
}

/** Appends to PUBLICATIONS and waits for the stream's acknowledgement. */
export class PublicationWriter {
  readonly #bus: Bus;
  readonly #timeoutMs: number;

  /** `timeoutMs`: how long to try an append while the stream is unreachable; default 2,500. */
  constructor(bus: Bus, options: { readonly timeoutMs?: number } = {}) {
    this.#bus = bus;
    this.#timeoutMs = options.timeoutMs ?? 2_500;
  }

  /**
   * Stores a job. One request stores it once, however many workers try. `written` is the address
   * from {@link waitWritten}, for the answers of services that derive something from it.
   * @throws BusError `BUS_STREAM_AWAY`, `BUS_STREAM_FULL`, `BUS_FORBIDDEN`, `BUS_BAD_MESSAGE`.
   */
  async appendJob(job: Job, options: { readonly written?: string } = {}): Promise<AppendedJob> {
    const headers: Record<string, string> = { ...VERSION };
    if (options.written !== undefined) headers[PUBLICATION_HEADERS.written] = options.written;
    let payload = packJob(job);
    if (payload.length > INLINE_MAX_BYTES) {
      headers[PUBLICATION_HEADERS.reference] = await putBody(this.#bus, 'pub', payload);
      payload = new Uint8Array(0);
    }
    const appended = await append(this.#bus, {
      subject: subjects.publication('job'),
      payload,
      headers,
      msgId: escapeHeader(`pub:${job.requestId}`),
      timeoutMs: this.#timeoutMs,
    });
    if (!appended.duplicate) return { ...appended, job };
    return { ...appended, job: await this.#storedJob(appended.seq) };
  }

  /**
   * Stores that a job is to be sent once more. For one `slot` it is stored once, even if several
   * publishers try. Throws as {@link appendJob}.
   */
  async appendAgain(again: Again, options: { readonly slot?: string } = {}): Promise<Appended> {
    const { slot } = options;
    // Parts of a batch have one jid; each has a message of its own.
    const once = `again:${again.jid}:${again.seq}:${slot}`;
    const headers: Record<string, string> = { ...VERSION };
    let payload: Uint8Array = packAgain(again);
    if (payload.length > INLINE_MAX_BYTES) {
      headers[PUBLICATION_HEADERS.reference] = await putBody(this.#bus, 'pub', payload);
      payload = new Uint8Array(0);
    }
    return append(this.#bus, {
      subject: subjects.publication('again'),
      payload,
      headers,
      msgId: slot === undefined ? newMessageId() : escapeHeader(once),
      timeoutMs: this.#timeoutMs,
    });
  }

  /** Stores that an epoch of the AES key begins; once per epoch. Throws as {@link appendJob}. */
  async appendMarker(marker: Marker): Promise<Appended> {
    return append(this.#bus, {
      subject: subjects.publication('marker'),
      payload: Buffer.from(JSON.stringify(marker)),
      headers: VERSION,
      msgId: `marker:${marker.epoch}`,
      timeoutMs: this.#timeoutMs,
    });
  }

  /**
   * The job stored at a sequence, as a duplicate or an `again` names it.
   * @throws BusError `BUS_BODY_GONE` once it was purged.
   */
  async storedJob(seq: number): Promise<Job> {
    return this.#storedJob(seq);
  }

  async #storedJob(seq: number): Promise<Job> {
    const received = await readStored(this.#bus, STREAMS.publications, seq);
    if (received === undefined) {
      throw new BusError('BUS_BODY_GONE', `publication ${seq} is not stored any more`);
    }
    const published = await readPublished(this.#bus, received);
    if (published?.kind !== 'job') {
      throw new BusError('BUS_BAD_MESSAGE', `publication ${seq} is no job`);
    }
    return published.job;
  }
}

/** The wait for the services that derive something from a job. */
export interface WrittenWait {
  /** Goes with the job as its `written` option. */
  readonly subject: string;
  /** Resolves once all have answered or the time is up, with those that are missing. */
  readonly done: Promise<{ readonly missing: readonly string[] }>;
  /** Ends the wait; `done` resolves with those missing by then. */
  readonly cancel: () => void;
}

/**
 * Waits until all of `expected` (`store`, `host:<name>`) report that they wrote what they derive
 * from a job, for `timeoutMs` at most. Begin before the job is appended, and append it with
 * `subject`.
 * @throws BusError `BUS_BUSY`.
 */
export function waitWritten(bus: Bus, expected: readonly string[], timeoutMs: number): WrittenWait {
  const missing = new Set(expected);
  let finish: () => void = () => undefined;
  const done = new Promise<{ readonly missing: readonly string[] }>((resolve) => {
    finish = () => {
      slot.close();
      timer.clear();
      resolve({ missing: [...missing] });
    };
  });
  const slot = bus.answers.open(
    '',
    (msg) => {
      missing.delete(Buffer.from(msg.data).toString('utf8'));
      if (missing.size === 0) finish();
    },
    (error) => {
      if (error instanceof BusError) finish();
    },
  );
  const timer = bus.wheel.set(timeoutMs, finish);
  if (missing.size === 0) finish();
  return { subject: slot.subject, done, cancel: finish };
}
