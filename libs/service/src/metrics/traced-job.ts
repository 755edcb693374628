import type { MasterOptions } from '@brine/config';
import { isJid, traceIdOf } from '@brine/job';
import type { TracedBy } from './metrics.ts';

/** The trace of a job for an exemplar; undefined if the job has none. */
export type TracedJob = (jid: string | undefined) => TracedBy | undefined;

/** Returns the trace of a job; none if `brine.trace` is off. */
export function tracedJobs({ brine }: Pick<MasterOptions, 'brine'>): TracedJob {
  const isOff = brine.trace === 'off';
  return (jid) => (isOff || !isJid(jid) ? undefined : { traceId: traceIdOf(jid) });
}
