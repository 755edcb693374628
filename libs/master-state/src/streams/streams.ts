import { randomUUID } from 'node:crypto';
import { type Appended, type Bucket, type Bus, BusError, escapeKey } from '@brine/bus';
import type { EventWriter } from '@brine/bus/events';
import { type PublicationWriter, waitWritten } from '@brine/bus/jobs';
import { type Job, publishingPart } from '@brine/job';
import { type Events, MasterUnavailableError, type Publications } from '@brine/master';
import { nowMs, type Telemetry } from '@brine/telemetry';
import { fromHotState } from '../hot-state.ts';
import type { JobLookups } from './job-lookups.ts';
import type { StoredAcks } from './stored-acks.ts';
import { UnansweredReturns } from './unanswered-returns.ts';

/**
 * Time that a publish waits for the reports of the store and the host that they have the job. Then
 * it checks whether a stock CLI can read the job ({@link JobLookups}). The job is published in any
 * case.
 */
const WRITTEN_WAIT_MS = 1000;
/** A gateway repeats a refused delivery every 5 s at the latest, and so renews or ends this. */
const FULL_FOR_MS = 6_000;

/** Publishes jobs through the PUBLICATIONS stream. */
export class StreamPublications implements Publications {
  readonly #bus: Bus;
  readonly #writer: PublicationWriter;
  readonly #requests: Bucket;
  readonly #telemetry: Telemetry;
  readonly #events: { readonly full: boolean };
  readonly #lookups: JobLookups;

  constructor(ports: {
    readonly bus: Bus;
    readonly writer: PublicationWriter;
    readonly requests: Bucket;
    readonly telemetry: Telemetry;
    /** The stream of returns: while it is full no job is published. */
    readonly events: { readonly full: boolean };
    readonly lookups: JobLookups;
  }) {
    this.#bus = ports.bus;
    this.#writer = ports.writer;
    this.#requests = ports.requests;
    this.#telemetry = ports.telemetry;
    this.#events = ports.events;
    this.#lookups = ports.lookups;
  }

  async reserve(jid: string): Promise<boolean> {
    const created = this.#requests.create(escapeKey('jid', jid), Buffer.from(randomUUID()));
    return (await fromHotState('job ids', created)) !== undefined;
  }

  async begin(command: string, jid: string): Promise<string | undefined> {
    const key = escapeKey('run', command);
    // Unique, since workers of the release before take an equal value for their own write.
    const note = Buffer.from(`${jid} ${randomUUID()}`);
    const created = this.#requests.create(key, note);
    if ((await fromHotState('runs', created)) !== undefined) return undefined;
    const entry = await this.#requests.get(key).catch((cause: unknown) => {
      throw unavailable('the bucket of runs', cause);
    });
    return entry && Buffer.from(entry.value).toString().split(' ')[0];
  }

  async publish(job: Job, readsStore = false): Promise<Pick<Job, 'jid' | 'minions' | 'missing'>> {
    if (this.#events.full) {
      const text = 'the stream of events is full: its returns could not be kept';
      throw new MasterUnavailableError(text);
    }
    const writers = readsStore ? ['store'] : ['store', `host:${job.host}`];
    const waiting = waitWritten(this.#bus, writers, WRITTEN_WAIT_MS);
    const startMs = nowMs();
    const appending = this.#writer.appendJob(job, { written: waiting.subject });
    const appended = await appending.catch((cause: unknown) => {
      waiting.cancel();
      throw unavailable('the stream of publications', cause);
    });
    const { piece } = job;
    // For a duplicate too: the worker that wrote the job may have died before it recorded the span.
    this.#telemetry.recordSpan({
      name: 'record',
      jid: appended.duplicate ? appended.job.jid : job.jid,
      part: publishingPart('record', piece),
      parentPart: publishingPart('worker.publish', piece),
      startMs,
      endMs: nowMs(),
      attributes: {
        'brine.seq': appended.seq,
        'brine.minions': job.minions.length,
        'brine.again': appended.duplicate ? true : undefined,
      },
    });
    if (appended.duplicate) {
      // An earlier try of the same request wrote it, and got the reports about it.
      waiting.cancel();
      if (!readsStore) await this.#found(appended.job, [this.#lookups.writer(job)]);
      return appended.job;
    }
    // As a stock master at this level (salt/master.py ClearFuncs.publish), without the arguments.
    const { jid, user, fun, minions } = job;
    this.#telemetry.log.info({ jid, user, fun, minions: minions.length }, 'published a job');
    const { missing } = await waiting.done;
    if (readsStore) this.#warnOf(job.jid, missing);
    else await this.#found(job, missing);
    return job;
  }

  /** Waits until the CLI of a job can read it, if its writer is missing. */
  async #found(job: Pick<Job, 'host' | 'jid'>, missing: readonly string[]): Promise<void> {
    const writer = this.#lookups.writer(job);
    const isFound = !missing.includes(writer) || (await this.#lookups.found(job));
    this.#warnOf(
      job.jid,
      missing.filter((one) => one !== writer || !isFound),
    );
  }

  /** The job goes out in any case; who looks for it may not find it yet. */
  #warnOf(jid: string, missing: readonly string[]): void {
    if (missing.length === 0) return;
    this.#telemetry.log.warn({ jid, missing }, 'answered before all had written the job');
  }
}

/** Appends events to the EVENTS stream; returns wait for PostgreSQL too if configured. */
export class StreamEvents implements Events {
  readonly #writer: Pick<EventWriter, 'append'>;
  readonly #acks: Pick<StoredAcks, 'stored'> | undefined;
  readonly #unanswered = new UnansweredReturns();
  #fullAt = -Infinity;
  /** Size of the smallest refused event since the stream had room for all. */
  #refusedBytes = Infinity;

  constructor(writer: Pick<EventWriter, 'append'>, acks?: Pick<StoredAcks, 'stored'>) {
    this.#writer = writer;
    this.#acks = acks;
  }

  /** True if a return found no room lately: returns of a job published now could be lost. */
  get full(): boolean {
    return performance.now() - this.#fullAt < FULL_FOR_MS;
  }

  async append(event: Parameters<Events['append']>[0]): Promise<{ readonly duplicate: boolean }> {
    const { kind, jid, minion: id } = event;
    const acks = kind === 'ret' ? this.#acks : undefined;
    if (acks === undefined || jid === undefined || id === undefined) return this.#write(event);
    const appended = this.#unanswered.find(event) ?? (await this.#write(event));
    try {
      await acks.stored({ ...appended, jid, id });
    } catch (error) {
      this.#unanswered.note(event, appended);
      throw error;
    }
    this.#unanswered.forget(event);
    return appended;
  }

  async #write(event: Parameters<Events['append']>[0]): Promise<Appended> {
    const { length } = event.body;
    let appended: Appended;
    try {
      appended = await this.#writer.append(event);
    } catch (cause) {
      if (cause instanceof BusError && cause.code === 'BUS_STREAM_FULL') {
        this.#fullAt = performance.now();
        this.#refusedBytes = Math.min(this.#refusedBytes, length);
      }
      throw unavailable('the stream of events', cause);
    }
    // Smaller events may find room while the next return does not.
    if (length >= this.#refusedBytes) {
      this.#fullAt = -Infinity;
      this.#refusedBytes = Infinity;
    }
    return appended;
  }
}

/** Maps a failed append to an error for the caller; programming errors stay as they are. */
function unavailable(what: string, cause: unknown): unknown {
  if (!(cause instanceof BusError)) return cause;
  const state = cause.code === 'BUS_STREAM_FULL' ? 'full: NATS has no room left for it' : 'away';
  return new MasterUnavailableError(`${what} is ${state}`, { cause });
}
