/** Kinds of differences, and their meaning. */
export const DIFFERENCE_KINDS = {
  'return-lost': 'acknowledged to the minion, not stored',
  'return-changed': 'stored with another content than was sent',
  'return-invented': 'stored, but the minion never sent it',
  'return-twice': 'more than one counted return of a minion to a job',
  'return-quarantined': 'PostgreSQL refused it; its bytes are in brine.quarantine',
  'return-without-job': 'stored, but there is no job with this jid',
  'job-lost': 'the publish was acknowledged to the client, no job is stored',
  'job-quarantined': 'PostgreSQL refused it; its bytes are in brine.quarantine',
  'job-twice': 'one publish request made several jobs',
  'job-refused': 'the answer to the client was that the job is not published, and it is stored',
  'job-targets': 'the number of stored targets is not that in the answer to the client',
  'job-sum': 'targeted is not waiting + returned + failed + late + never',
  'job-states': 'the states that Brine reports are not those of the rows',
  'job-open': 'minions still wait after the job is closed',
  'run-twice': 'a minion ran a job more than once',
  counters: 'the counters of the metrics are not the numbers of rows',
} as const;

/** A kind of difference. */
export type DifferenceKind = keyof typeof DIFFERENCE_KINDS;

/** One difference between the books and what happened. */
export interface Difference {
  readonly kind: DifferenceKind;
  /** '' if it is about no job. */
  readonly jid: string;
  /** The minion, if it is about one. */
  readonly id?: string;
  readonly detail?: string;
}

/** Counts of compared data. */
export interface LedgerFigures {
  /** Publish requests of the log, and those answered with a jid. */
  readonly publishes: number;
  readonly published: number;
  /** Stored jobs of clients. */
  readonly jobs: number;
  /** Closed jobs among them. */
  readonly closed: number;
  readonly targeted: number;
  /** (job, minion) pairs that received the publication; and receipts beyond the first. */
  readonly received: number;
  readonly receivedAgain: number;
  /** Pairs that sent a return, were acknowledged, gave up; and sends beyond the first. */
  readonly sent: number;
  readonly acknowledged: number;
  readonly givenUp: number;
  readonly resent: number;
  /** Stored returns of the minions of the log, and of those the unacknowledged ones. */
  readonly stored: number;
  readonly storedUnacknowledged: number;
  /** Stored returns of other minions, which the log cannot check. */
  readonly ofOthers: number;
  readonly evidence: number;
  /** Sums over the jobs, from the rows. */
  readonly states: Readonly<Record<'waiting' | 'returned' | 'failed' | 'late' | 'never', number>>;
}

/** The result of a check. */
export interface LedgerReport {
  /** At most {@link MAX_DIFFERENCES}; the counts are complete. */
  readonly differences: readonly Difference[];
  readonly counts: Readonly<Partial<Record<DifferenceKind, number>>>;
  readonly figures: LedgerFigures;
  /** True without any difference. */
  readonly ok: boolean;
}

/** Further differences are counted, not listed. */
export const MAX_DIFFERENCES = 1_000;

/** Collects differences, and keeps a limited number. */
export class Differences {
  readonly list: Difference[] = [];
  readonly counts: Partial<Record<DifferenceKind, number>> = {};

  add(kind: DifferenceKind, jid: string, rest: Omit<Difference, 'kind' | 'jid'> = {}): void {
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    if (this.list.length < MAX_DIFFERENCES) this.list.push({ kind, jid, ...rest });
  }
}
