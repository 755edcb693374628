import type { Job } from '@brine/job';
import type { SaltMap } from '@brine/wire';
import { isMap, mapOf, unpack, WireError } from '@brine/wire';
import { LRUCache } from 'lru-cache';
import { askerOf } from './job-below.ts';
import type { KnownJob } from './ports.ts';

/** What masters above ask of a job that was published here. */
type JobToRemember = Pick<Job, 'jid' | 'load' | 'minions' | 'requestId'>;

interface Remembered {
  readonly askers: ReadonlySet<string>;
  readonly load: Uint8Array;
  readonly minions: readonly string[];
}

const JOBS_MAX = 5_000;
const BYTES_MAX = 64 * 1024 * 1024;
/** About what an id of a minion takes in memory. */
const ID_BYTES = 40;
const JOB_BYTES = 300;

/** The most recent jobs: the masters above that asked for them, and their loads. */
export class RecentJobs {
  readonly #jobs = new LRUCache<string, Remembered>({
    max: JOBS_MAX,
    maxSize: BYTES_MAX,
    sizeCalculation: ({ load, minions }) => JOB_BYTES + load.length + minions.length * ID_BYTES,
  });

  /** Takes a job; one that is published in pieces is one job. */
  add({ jid, load, minions, requestId }: JobToRemember): void {
    const before = this.#jobs.get(jid);
    const asker = askerOf(requestId);
    const askers = new Set(before?.askers);
    if (asker !== undefined) askers.add(asker);
    const joined = before === undefined ? minions : union(before.minions, minions);
    this.#jobs.set(jid, { askers, load: before?.load ?? load, minions: joined });
  }

  /** Undefined for a job that was not seen, or long ago. */
  find(jid: string): KnownJob | undefined {
    const job = this.#jobs.get(jid);
    if (job === undefined) return undefined;
    return {
      askers: job.askers,
      get load() {
        return loadWithMinions(job.load, jid, job.minions);
      },
    };
  }
}

function union(some: readonly string[], more: readonly string[]): readonly string[] {
  return [...new Set([...some, ...more])];
}

/** As `get_load` of a job cache gives it (salt/returners/local_cache.py). */
function loadWithMinions(packed: Uint8Array, jid: string, minions: readonly string[]): SaltMap {
  const load = readable(packed);
  load.set('jid', jid);
  load.delete('key');
  load.set('Minions', [...minions].sort());
  return load;
}

/** A load that can not be read counts as empty: its returns go up all the same. */
function readable(packed: Uint8Array): SaltMap {
  try {
    const value = unpack(packed);
    return isMap(value) ? value : mapOf({});
  } catch (error) {
    if (error instanceof WireError) return mapOf({});
    throw error;
  }
}
