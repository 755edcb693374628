import { setTimeout as sleep } from 'node:timers/promises';
import { type Bus, BusError } from '@brine/bus';
import { awaitJobFiles, type JobFilesPatience } from '@brine/bus/jobs';
import { ask } from '@brine/bus/rpc';
import type { Job } from '@brine/job';
import { mapOf } from '@brine/wire';

/**
 * How long a publish waits for what its CLI reads next. A CLI asks three times within 15 s, and a
 * gateway answers it after 14 s whatever is so: a busy service has until then. A publish is
 * answered within 3 s if a service is away.
 */
const PATIENCE: JobFilesPatience = { busyMs: 12_000, absentMs: 1_500 };
/** How long one answer of the store may take. */
const ANSWER_MS = 2_000;
const POLL_MS = 100;

/** What a stock CLI reads of its job when it has the answer to its publish. */
export interface JobLookups {
  /** The service that writes it, as `waitWritten` names it. */
  readonly writer: (job: Pick<Job, 'host'>) => string;
  /** Resolves once it can be read; false if that is given up. */
  readonly found: (job: Pick<Job, 'host' | 'jid'>) => Promise<boolean>;
}

/**
 * Where stock tools look for jobs: files of the host of their gateway, or PostgreSQL if
 * `masterJobCache` is `pgjsonb`. A CLI that does not find its job ends without its returns: `jid
 * does not exist` (Salt: salt/client LocalClient.get_iter_returns).
 */
export function jobLookups(
  bus: Bus,
  masterJobCache: string,
  patience: JobFilesPatience = PATIENCE,
): JobLookups {
  if (masterJobCache === 'pgjsonb') {
    return { writer: () => 'store', found: ({ jid }) => isStored(bus, jid, patience) };
  }
  return {
    writer: ({ host }) => `host:${host}`,
    found: ({ host, jid }) => awaitJobFiles(bus, { host, jid }, patience),
  };
}

/** Waits until PostgreSQL has the job. While it is away, a CLI can not look there either. */
async function isStored(
  bus: Bus,
  jid: string,
  { busyMs, absentMs }: JobFilesPatience,
): Promise<boolean> {
  const since = performance.now();
  for (;;) {
    let isBusy = true;
    try {
      if ((await ask(bus, 'jobs.get_load', mapOf({ jid }), ANSWER_MS)) !== null) return true;
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      isBusy = error.code === 'BUS_TIMEOUT';
    }
    if (performance.now() - since >= (isBusy ? busyMs : absentMs)) return false;
    await sleep(POLL_MS);
  }
}
