import type { JobRecord } from '@brine/bus/jobs';

/** A sending of one job, for its trace. */
export interface Sending {
  readonly kind: 'publish' | 'again';
  /** When the message was taken in hand. */
  readonly startMs: number;
  /** How often it was sent before. */
  readonly before: number;
}

/** What of a job is needed to send it. */
export type Sendable = Pick<JobRecord, 'jid' | 'publication' | 'tgtType' | 'minions' | 'piece'>;
