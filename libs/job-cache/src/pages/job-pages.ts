import type { SaltMap } from '@brine/wire';
import type { Pool } from 'pg';
import { loadAlone } from '../read/get-load.ts';
import { readDigests } from './digests.ts';
import { areSmall, type GroupsAsked, type ReturnGroups, returnGroups } from './job-groups.ts';
import { type MinionFilter, type MinionLines, minionLines } from './job-minions.ts';
import { type JobNumbers, jobNumbers } from './job-numbers.ts';
import { newestReturn, type StoredReturn, storedReturn } from './job-return.ts';
import { type JobFilter, type JobLine, jobLine, type JobLines, jobLines } from './job-rows.ts';
import { jobStates, type StateLines } from './job-states.ts';
import { type JobTimeline, jobTimeline } from './job-timeline.ts';
import { type MinionJobFilter, type MinionJobs, minionJobs } from './minion-jobs.ts';
import { type PastPlace, pastRuns } from './past-runs.ts';

/** How long an answer may read returns, ms; a worker waits 4 s for it. */
const READ_MS = 2_500;

/** Where a page begins, and how many it has at most. */
interface Page {
  readonly limit: number;
}

/** Pages of jobs and of their returns, for lists that people look at. Throws JobCacheError. */
export class JobPages {
  readonly #pool: Pool;

  readonly #writes: Pool;
  readonly #reading = new Map<string, Promise<boolean>>();

  constructor(reads: Pool, writes: Pool) {
    this.#pool = reads;
    this.#writes = writes;
  }

  /** Jobs with their counts, newest first. */
  jobs(filter: JobFilter, page: Page & { readonly before?: string }): Promise<JobLines> {
    return jobLines(this.#pool, filter, page);
  }

  /** What jobs of late came to; of one principal, or of all. */
  numbers(principal?: string): Promise<JobNumbers> {
    return jobNumbers(this.#pool, principal);
  }

  /** One of them with its load; undefined for an unknown jid. */
  async job(jid: string): Promise<(JobLine & { readonly load: SaltMap }) | undefined> {
    const line = await jobLine(this.#pool, jid);
    const load = line && (await loadAlone(this.#pool, jid));
    return line && load && { ...line, load };
  }

  /** Minions of a job, by id. */
  minions(
    jid: string,
    filter: MinionFilter,
    page: Page & { readonly after?: string },
  ): Promise<MinionLines> {
    return minionLines(this.#pool, jid, filter, page);
  }

  /** The return of a minion; undefined if there is none. */
  return(jid: string, id: string): Promise<StoredReturn | undefined> {
    return storedReturn(this.#pool, jid, id);
  }

  /** What a minion returned last for a function, among its newest returns. */
  newestReturn(id: string, fun: string): ReturnType<typeof newestReturn> {
    return newestReturn(this.#pool, id, fun);
  }

  /** What a minion did in each job, newest first. */
  minionJobs(
    id: string,
    filter: MinionJobFilter,
    page: Page & { readonly before?: string },
  ): Promise<MinionJobs> {
    return minionJobs(this.#pool, id, filter, page);
  }

  /**
   * The returns of a job by what they contain; `isWhole`: false while there are returns that were
   * not read for it yet, so that the same question a little later has more.
   */
  async groups(jid: string, asked: GroupsAsked): Promise<ReturnGroups & { isWhole: boolean }> {
    const kept = asked.likeness === 'states' || !(await areSmall(this.#pool, jid));
    const isWhole = !kept || (await this.#readDigests(jid));
    return { ...(await returnGroups(this.#pool, jid, { ...asked, kept })), isWhole };
  }

  /** What the states of a job came to; `isWhole` as of {@link groups}. */
  async states(
    jid: string,
    asked: Page & { readonly ids?: readonly string[] },
  ): Promise<StateLines & { isWhole: boolean }> {
    const isWhole = await this.#readDigests(jid);
    return { ...(await jobStates(this.#pool, jid, asked)), isWhole };
  }

  /** When the returns of a job came; undefined without any. */
  timeline(
    jid: string,
    asked: { readonly bins: number; readonly ids?: readonly string[] },
  ): Promise<JobTimeline | undefined> {
    return jobTimeline(this.#pool, jid, asked);
  }

  /** Runs of these functions of all minions, newest first, by and by. */
  pastRuns(functions: readonly string[], after?: PastPlace): ReturnType<typeof pastRuns> {
    return pastRuns(this.#pool, functions, after);
  }

  /** Those who ask for the same job meanwhile share the work. */
  #readDigests(jid: string): Promise<boolean> {
    const pools = { reads: this.#pool, writes: this.#writes };
    const running =
      this.#reading.get(jid) ??
      readDigests(pools, jid, performance.now() + READ_MS).finally(() => this.#reading.delete(jid));
    this.#reading.set(jid, running);
    return running;
  }
}
