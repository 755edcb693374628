import type { JobFilesState, JobMessage } from '@brine/bus/jobs';
import type { JobFiles } from '@brine/cachedir';
import type { Jid, Job } from '@brine/job';
import { jobNewTag, jobPublishTag } from '@brine/job';
import type { SaltMap, SaltValue } from '@brine/wire';
import { isMap, mapIn, unpack } from '@brine/wire';
import { buildNewJob, withoutCredentials } from '@brine/wire/load';
import type { Readers } from './readers.ts';

/** The functions that settle a job. */
type JobDelivery = Pick<JobMessage, 'timeUs' | 'deliveries' | 'written' | 'ack' | 'failed'>;

/** The parts of a {@link JobFeed}. */
export interface JobFeedParts {
  /** Undefined if local tools look for jobs elsewhere (`master_job_cache`). */
  readonly files: JobFiles | undefined;
  readonly readers: Readers;
  /**
   * Jobs from before this time (unix ms) get their files and no events: no reader waits for them.
   */
  readonly announceSinceMs: number;
  /** `host:<name>`, under which this host reports to the worker that it has written a job. */
  readonly writer: string;
  /** Called when the job was announced to the readers. */
  readonly announced: (jid: string) => void;
  readonly onTrouble: (jid: string, error: unknown) => void;
}

/** Jobs that are remembered because their files could not be written. */
const FAILED_MAX = 1_000;

/** Writes the files of each job for stock tools, then sends the events that they wait for. */
export class JobFeed {
  readonly #parts: JobFeedParts;
  readonly #failed = new Set<string>();
  readonly #counts = { jobs: 0, failedFiles: 0 };

  constructor(parts: JobFeedParts) {
    this.#parts = parts;
  }

  stats(): { readonly jobs: number; readonly failedFiles: number } {
    return { ...this.#counts };
  }

  /** The answer to a worker that waits for the files of a job. */
  async filesOf(jid: string): Promise<JobFilesState> {
    const { files } = this.#parts;
    // Local tools read jobs elsewhere: there is nothing to wait for here.
    if (files === undefined || (await files.has(jid))) return 'written';
    return this.#failed.has(jid) ? 'failed' : 'awaited';
  }

  /**
   * Handles one job: files, `new`, `publish`, then the report that it is written. Handling it again
   * writes the same files. The events go out even when the files can not be written.
   */
  async handle(job: Job, message: JobDelivery): Promise<void> {
    const load = loadOf(job);
    let failure: { readonly error: unknown } | undefined;
    try {
      const { jid, minions } = job;
      await this.#parts.files?.writeJob({ jid, load, minions, nocache: isNotCached(load) });
      this.#counts.jobs += 1;
    } catch (error) {
      failure = { error };
      this.#counts.failedFiles += 1;
      this.#noteFailed(job.jid);
      this.#parts.onTrouble(job.jid, error);
    }
    const first = message.deliveries <= 1 || failure === undefined;
    // A tool that waits for this job connected before it was published.
    await this.#parts.readers.arrivals();
    if (first) this.#announce(job, load, message.timeUs / 1000);
    if (failure !== undefined) return message.failed(failure.error);
    message.written(this.#parts.writer);
    message.ack();
  }

  #noteFailed(jid: string): void {
    this.#failed.add(jid);
    if (this.#failed.size <= FAILED_MAX) return;
    for (const oldest of this.#failed) return void this.#failed.delete(oldest);
  }

  #announce(job: Job, load: SaltMap, timeMs: number): void {
    const { readers, announced } = this.#parts;
    const jid = job.jid as Jid;
    if (timeMs >= this.#parts.announceSinceMs) {
      readers.fireMap(jobNewTag(jid), buildNewJob({ ...job, arg: load.get('arg') ?? [] }), timeMs);
      readers.fire({ kind: 'job', tag: jobPublishTag(jid), body: job.publication, timeMs });
    }
    announced(job.jid);
  }
}

/** The load as Salt stores it: with its jid, never with the caller's key. */
function loadOf(job: Job): SaltMap {
  const value = unpack(job.load);
  const load: SaltMap = isMap(value) ? value : new Map<SaltValue, SaltValue>();
  return withoutCredentials(load).set('jid', job.jid);
}

/** Salt: salt/master.py ClearFuncs._prep_jid takes it out of the keywords of the load. */
function isNotCached(load: SaltMap): boolean {
  return mapIn(load, 'kwargs')?.get('nocache') === true;
}
