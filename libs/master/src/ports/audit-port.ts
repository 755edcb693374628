import type { AuditedAct } from '@brine/job';

/** Puts what was done on record, off the way of the request: neither throws nor waits. */
export interface AuditRecord {
  record(act: AuditedAct): void;
  /**
   * A refusal, or anything else that nobody proved to have asked for. Anybody may cause these as
   * often as he likes: past an allowance they are counted, and the next row tells how many were
   * left out.
   */
  recordRefusal(act: AuditedAct): void;
}
