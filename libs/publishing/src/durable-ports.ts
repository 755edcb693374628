import type { Again, AppendedJob } from '@brine/bus/jobs';
import type { Job } from '@brine/job';

/** What the store gives out: libs/job-cache DurableTask. */
export interface DurableTask {
  readonly jid: string;
  readonly requestId: string;
  readonly turn: number;
  readonly look: number;
  readonly kind: 'ask' | 'send';
  readonly minions: readonly string[];
  /** The jid of the question. */
  readonly probe: string;
  readonly seq: number;
  readonly notAfter: number;
  /** The job as minions get it, less its serial. */
  readonly publication: Uint8Array;
}

/** The store of durable jobs; both reject while it does not answer. */
export interface DurableStore {
  take(
    heard: ReadonlyMap<string, number>,
    probe: string,
  ): Promise<{ readonly task: DurableTask | undefined; readonly open: number }>;
  confirm(task: DurableTask): Promise<void>;
}

/** Where questions and repetitions go: `PublicationWriter`. */
export interface DurablePublications {
  appendJob(record: Job): Promise<Pick<AppendedJob, 'duplicate'>>;
  appendAgain(again: Again, options: { readonly slot: string }): Promise<unknown>;
}

/** Log-ins of minions as they happen, until closed. */
export interface LogIns extends AsyncIterable<{ readonly id: string; readonly atMs: number }> {
  close(): void;
}
