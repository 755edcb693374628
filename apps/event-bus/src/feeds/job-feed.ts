import type { JobFiles } from '@brine/cachedir';
import type { Jid } from '@brine/job';
import { jobNewTag, jobPublishTag } from '@brine/job';
import type { SaltMap, SaltValue } from '@brine/wire';
import { isMap, mapIn, unpack } from '@brine/wire';
import { buildNewJob } from '@brine/wire/load';
import type { Readers } from '../sockets/readers.ts';

/** A job of the stream, as far as a host's files and readers need it. */
export interface JobForHost {
  readonly jid: string;
  /** The publication without `serial`, packed. */
  readonly publication: Uint8Array;
  /** The clear load without the caller's key, packed. */
  readonly load: Uint8Array;
  readonly user: string;
  readonly fun: string | readonly string[];
  readonly tgt: string | readonly string[];
  readonly tgtType: string;
  readonly minions: readonly string[];
  readonly missing: readonly string[];
}

/** A message of PUBLICATIONS. */
export interface JobMessage {
  readonly timeUs: number;
  readonly deliveries: number;
  written(by: string): void;
  ack(): void;
  /** It could not be handled: it comes again some times, then moves aside. */
  failed(error: unknown): void;
}

/** What {@link JobFeed} works with. */
export interface JobFeedParts {
  /** Undefined where local tools look for jobs elsewhere (`master_job_cache`). */
  readonly files: JobFiles | undefined;
  readonly readers: Readers;
  /** Jobs stored before (unix ms) get their files, but who reads now did not wait for them. */
  readonly announceSinceMs: number;
  /** `host:<name>`, for whoever waits until this host has written the job. */
  readonly writer: string;
  /** Called when the job was announced to the readers. */
  readonly announced: (jid: string) => void;
  readonly onTrouble: (jid: string, error: unknown) => void;
}

/** Makes of each job the files that stock tools look for, then the events they wait for. */
export class JobFeed {
  readonly #parts: JobFeedParts;
  readonly #counts = { jobs: 0, failedFiles: 0 };

  constructor(parts: JobFeedParts) {
    this.#parts = parts;
  }

  stats(): { readonly jobs: number; readonly failedFiles: number } {
    return { ...this.#counts };
  }

  /**
   * Handles one job: files, `new`, `publish`, then tells that it is written. Handling it again
   * writes the same files. When the files can not be written, the readers are told all the same.
   */
  async handle(record: JobForHost, message: JobMessage): Promise<void> {
    const load = loadOf(record);
    let failure: { readonly error: unknown } | undefined;
    try {
      const { jid, minions } = record;
      await this.#parts.files?.writeJob({ jid, load, minions, nocache: isNotCached(load) });
      this.#counts.jobs += 1;
    } catch (error) {
      failure = { error };
      this.#counts.failedFiles += 1;
      this.#parts.onTrouble(record.jid, error);
    }
    const first = message.deliveries <= 1 || failure === undefined;
    // Who waits for this job connected before it was published.
    await this.#parts.readers.arrivals();
    if (first) this.#announce(record, load, message.timeUs / 1000);
    if (failure !== undefined) return message.failed(failure.error);
    message.written(this.#parts.writer);
    message.ack();
  }

  #announce(record: JobForHost, load: SaltMap, timeMs: number): void {
    const { readers, announced } = this.#parts;
    const jid = record.jid as Jid;
    if (timeMs >= this.#parts.announceSinceMs) {
      readers.fireMap(
        jobNewTag(jid),
        buildNewJob({ ...record, arg: load.get('arg') ?? [] }),
        timeMs,
      );
      readers.fire({ tag: jobPublishTag(jid), data: record.publication, timeMs });
    }
    announced(record.jid);
  }
}

/** The load as Salt stores it: with the jid it was given, never with the caller's key. */
function loadOf(record: JobForHost): SaltMap {
  const value = unpack(record.load);
  const load: SaltMap = isMap(value) ? value : new Map<SaltValue, SaltValue>();
  load.set('jid', record.jid);
  load.delete('key');
  return load;
}

/** Salt: salt/master.py ClearFuncs._prep_jid takes it out of the keywords of the load. */
function isNotCached(load: SaltMap): boolean {
  return mapIn(load, 'kwargs')?.get('nocache') === true;
}
