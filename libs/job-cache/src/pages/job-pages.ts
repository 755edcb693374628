import type { SaltMap } from '@brine/wire';
import type { Pool } from 'pg';
import { loadAlone } from '../read/get-load.ts';
import { type ReturnGroups, returnGroups } from './job-groups.ts';
import { type MinionFilter, minionLines, type MinionLines } from './job-minions.ts';
import { type StoredReturn, storedReturn } from './job-return.ts';
import { type JobFilter, type JobLine, jobLine, type JobLines, jobLines } from './job-rows.ts';

/** Where a page begins, and how many it has at most. */
interface Page {
  readonly limit: number;
}

/** Pages of jobs and of their returns, for lists that people look at. Throws JobCacheError. */
export class JobPages {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Jobs with their counts, newest first. */
  jobs(filter: JobFilter, page: Page & { readonly before?: string }): Promise<JobLines> {
    return jobLines(this.#pool, filter, page);
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

  /** The returns of a job by what they contain. */
  groups(jid: string, page: Page & { readonly ids?: readonly string[] }): Promise<ReturnGroups> {
    return returnGroups(this.#pool, jid, page);
  }
}
