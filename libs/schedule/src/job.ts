import type { SaltMap, SaltValue } from '@brine/wire';
import type { CronTimes } from './cron.ts';
import type { DateText } from './date-text.ts';
import type { WallMs } from './zone.ts';

/** The condition on which a job is due. */
export type Timing =
  | { readonly kind: 'interval'; readonly seconds: number }
  | { readonly kind: 'cron'; readonly times: CronTimes }
  | { readonly kind: 'when'; readonly texts: readonly DateText[] }
  | { readonly kind: 'once'; readonly at: WallMs };

/** Bounds of the random seconds added to a due time, both inclusive. */
export interface Splay {
  readonly from: number;
  readonly to: number;
}

/** A span of times; texts without a day are read again each day. */
export interface TimeRange {
  readonly start: DateText;
  readonly end: DateText;
}

/** `range` of a job. */
export interface AllowedRange extends TimeRange {
  readonly invert: boolean;
  /** An interval that ends outside waits for the range; no skip function runs. */
  readonly waits: boolean;
}

/** Conditions that may stop a due job. */
export interface Gates {
  readonly range?: AllowedRange;
  readonly skipDuringRange?: TimeRange;
  readonly until?: DateText;
  readonly after?: DateText;
}

/** A job of the schedule. */
export interface ScheduledJob {
  readonly name: string;
  /** Its runner or wheel function. */
  readonly fun: string;
  readonly args: readonly SaltValue[];
  readonly kwargs: SaltMap;
  readonly timing: Timing;
  readonly splay?: Splay;
  readonly gates: Gates;
  /** Runs once after a span of `skip_during_range` that stopped it. */
  readonly runAfterSkipRange: boolean;
  /** Additional times, and due times that are skipped. */
  readonly runExplicit: readonly WallMs[];
  readonly skipExplicit: readonly WallMs[];
  readonly enabled: boolean;
  readonly runOnStart: boolean;
  /** Treatment of times that came while the schedule was not served. */
  readonly missed: 'skip' | 'run';
  /** Limit of concurrent runs; undefined: none (`jid_include: False`). */
  readonly maxRunning: number | undefined;
  readonly returners: readonly string[];
  /** Publication of the result, and storage in the job cache. */
  readonly returnJob: 'keep' | 'nocache' | 'no';
  readonly metadata?: SaltMap;
  readonly returnConfig?: SaltValue;
  readonly returnKwargs?: SaltValue;
  readonly dryRun: boolean;
  /** Changes with the entry. */
  readonly fingerprint: string;
}

/** A part of `schedule:` without effect. */
export interface ScheduleFault {
  /** `job` or `job.key`; only a key for the whole schedule. */
  readonly where: string;
  /** Reason in one line, with names of functions and keys but no other values. */
  readonly why: string;
  /** True if the job does not run at all; else only this key has no effect. */
  readonly stops: boolean;
}

/** `schedule:` of a master. */
export interface Schedule {
  readonly jobs: readonly ScheduledJob[];
  readonly enabled: boolean;
  /** Runs instead of a job that `skip_during_range` or `range` stops. */
  readonly skipFunction?: string;
  readonly faults: readonly ScheduleFault[];
}
