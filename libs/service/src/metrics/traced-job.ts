import type { MasterOptions } from '@brine/config';
import { isJid, traceIdOf } from '@brine/job';
import type { TracedBy } from './metrics.ts';

/** The trace of a job for an exemplar; undefined where the job has none. */
export type TracedJob = (jid: string | undefined) => TracedBy | undefined;

/** Says which trace a job has; none where `brine.trace` is off. */
export function tracedJobs({ brine }: Pick<MasterOptions, 'brine'>): TracedJob {
  const isOff = brine.trace === 'off';
  return (jid) => (isOff || !isJid(jid) ? undefined : { traceId: traceIdOf(jid) });
}
