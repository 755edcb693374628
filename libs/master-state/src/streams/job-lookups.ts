import { setTimeout as sleep } from 'node:timers/promises';
import { type Bus, BusError } from '@brine/bus';
import { awaitJobFiles, type JobFilesPatience } from '@brine/bus/jobs';
import { ask } from '@brine/bus/rpc';
import type { Job } from '@brine/job';
import { mapOf } from '@brine/wire';

/**
 * Time that a publish waits until its CLI can read the job. A CLI asks three times within 15 s, and
 * a gateway answers it after 14 s in any case: a busy service has until then. If a service is
 * unreachable, a publish is answered within 3 s.
 */
const PATIENCE: JobFilesPatience = { busyMs: 12_000, absentMs: 1_500 };
/** Timeout of one answer of the store. */
const ANSWER_MS = 2_000;
const POLL_MS = 100;

/** The reads of a stock CLI after the answer to its publish. */
export interface JobLookups {
  /** The service that writes the job, as `waitWritten` names it. */
  readonly writer: (job: Pick<Job, 'host'>) => string;
  /** Resolves with true once the job can be read; with false after the timeout. */
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

/** Waits until PostgreSQL has the job. While it is unreachable, a CLI can not read there either. */
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
