import {
  BusError,
  escapeKey,
  waitWritten,
  type Bucket,
  type Bus,
  type EventWriter,
  type PublicationWriter,
} from '@brine/bus';
import { MasterUnavailableError, type Events, type Job, type Publications } from '@brine/master';
import { publishingPart } from '@brine/job';
import { randomUUID } from 'node:crypto';
import { nowMs, type Telemetry } from '@brine/telemetry';
import { unlessConflict } from './hot-state.ts';

/**
 * How long a publish reply waits for the store and for the job's files: a stock CLI reads the load
 * from disk as soon as it has the reply. The job is published in any case.
 */
const WRITTEN_WAIT_MS = 1000;

/** Publishes jobs through the PUBLICATIONS stream. */
export class StreamPublications implements Publications {
  readonly #bus: Bus;
  readonly #writer: PublicationWriter;
  readonly #requests: Bucket;
  readonly #telemetry: Telemetry;

  constructor(ports: {
    readonly bus: Bus;
    readonly writer: PublicationWriter;
    readonly requests: Bucket;
    readonly telemetry: Telemetry;
  }) {
    this.#bus = ports.bus;
    this.#writer = ports.writer;
    this.#requests = ports.requests;
    this.#telemetry = ports.telemetry;
  }

  async reserve(jid: string): Promise<boolean> {
    const created = this.#requests.create(escapeKey('jid', jid), Buffer.from(randomUUID()));
    return (await unlessConflict('job ids', created)) !== undefined;
  }

  async publish(job: Job): Promise<Pick<Job, 'jid' | 'minions' | 'missing'>> {
    const waiting = waitWritten(this.#bus, ['store', `host:${job.host}`], WRITTEN_WAIT_MS);
    const startMs = nowMs();
    const appended = await appendOrUnavailable(
      'the stream of publications',
      this.#writer.appendJob(job, { written: waiting.subject }),
    ).catch((cause: unknown) => {
      waiting.cancel();
      throw cause;
    });
    const { piece } = job;
    // Of a duplicate too: who wrote the job may have died before he recorded it.
    this.#telemetry.recordSpan({
      name: 'record',
      jid: appended.duplicate ? appended.record.jid : job.jid,
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
      // An earlier try of the same request wrote it, and its files with it.
      waiting.cancel();
      return appended.record;
    }
    // As a stock master at this level (salt/master.py ClearFuncs.publish), without the arguments.
    const { jid, user, fun, minions } = job;
    this.#telemetry.log.info({ jid, user, fun, minions: minions.length }, 'published a job');
    const { missing } = await waiting.done;
    if (missing.length > 0) {
      // The job goes out in any case; a CLI on that host may not find its load yet.
      this.#telemetry.log.warn(
        { jid: job.jid, missing },
        'answered before all had written the job',
      );
    }
    return job;
  }
}

/** Appends events to the EVENTS stream. */
export class StreamEvents implements Events {
  readonly #writer: EventWriter;

  constructor(writer: EventWriter) {
    this.#writer = writer;
  }

  append(event: Parameters<Events['append']>[0]): Promise<{ readonly duplicate: boolean }> {
    return appendOrUnavailable('the stream of events', this.#writer.append(event));
  }
}

async function appendOrUnavailable<T>(what: string, appended: Promise<T>): Promise<T> {
  try {
    return await appended;
  } catch (cause) {
    if (cause instanceof BusError) throw new MasterUnavailableError(`${what} is away`, { cause });
    throw cause;
  }
}
