import type { Job } from '@brine/job';
import type { SaltMap } from '@brine/wire';
import { isMap, mapOf, unpack, WireError } from '@brine/wire';
import { LRUCache } from 'lru-cache';
import { askerOf } from './job-below.ts';
import type { KnownJob } from './ports.ts';

/** The fields of a job that masters above need later. */
type JobToRemember = Pick<Job, 'jid' | 'load' | 'minions' | 'requestId'>;

interface Remembered {
  readonly askers: ReadonlySet<string>;
  readonly load: Uint8Array;
  readonly minions: readonly string[];
}

const JOBS_MAX = 5_000;
const BYTES_MAX = 64 * 1024 * 1024;
/** Memory of a minion id, roughly. */
const ID_BYTES = 40;
const JOB_BYTES = 300;

/** The most recent jobs: the masters above that asked for them, and their loads. */
export class RecentJobs {
  readonly #jobs = new LRUCache<string, Remembered>({
    max: JOBS_MAX,
    maxSize: BYTES_MAX,
    sizeCalculation: ({ load, minions }) => JOB_BYTES + load.length + minions.length * ID_BYTES,
  });

  /** Adds a job; the pieces of a job are joined. */
  add({ jid, load, minions, requestId }: JobToRemember): void {
    const before = this.#jobs.get(jid);
    const asker = askerOf(requestId);
    const askers = new Set(before?.askers);
    if (asker !== undefined) askers.add(asker);
    const joined = before === undefined ? minions : union(before.minions, minions);
    this.#jobs.set(jid, { askers, load: before?.load ?? load, minions: joined });
  }

  /** Undefined for a job that was not seen, or was forgotten. */
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

/** The load as `get_load` of a job cache returns it (salt/returners/local_cache.py). */
function loadWithMinions(packed: Uint8Array, jid: string, minions: readonly string[]): SaltMap {
  const load = readable(packed);
  load.set('jid', jid);
  load.delete('key');
  load.set('Minions', [...minions].sort());
  return load;
}

/** An unreadable load counts as empty, so that its returns still go up. */
function readable(packed: Uint8Array): SaltMap {
  try {
    const value = unpack(packed);
    return isMap(value) ? value : mapOf({});
  } catch (error) {
    if (error instanceof WireError) return mapOf({});
    throw error;
  }
}
