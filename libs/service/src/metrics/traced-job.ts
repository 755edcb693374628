import type { MasterOptions } from '@brine/config';
import { isJid, traceIdOf } from '@brine/job';
import { isSampled } from '@brine/telemetry';
import type { TracedBy } from './metrics.ts';

/** The trace of a job for an exemplar; undefined where the job has none. */
export type TracedJob = (jid: string | undefined) => TracedBy | undefined;

/** Says which trace a job has, by the options that say which jobs are traced. */
export function tracedJobs({ brine }: Pick<MasterOptions, 'brine'>): TracedJob {
  const { enabled, ratio } = brine.trace;
  return (jid) => {
    if (!enabled || !isJid(jid)) return undefined;
    const traceId = traceIdOf(jid);
    return isSampled(traceId, ratio) ? { traceId } : undefined;
  };
}
