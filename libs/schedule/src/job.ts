import type { SaltMap, SaltValue } from '@brine/wire';
import type { CronTimes } from './cron.ts';
import type { DateText } from './date-text.ts';
import type { WallMs } from './zone.ts';

/** What makes a job due. */
export type Timing =
  | { readonly kind: 'interval'; readonly seconds: number }
  | { readonly kind: 'cron'; readonly times: CronTimes }
  | { readonly kind: 'when'; readonly texts: readonly DateText[] }
  | { readonly kind: 'once'; readonly at: WallMs };

/** Seconds that are added to a due time, drawn between two bounds that count in. */
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
  /** An interval that ends outside waits for the range; nothing runs in its place. */
  readonly waits: boolean;
}

/** What may keep a job that is due from running. */
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
  /** After a span of `skip_during_range` that kept it from running, it runs once. */
  readonly runAfterSkipRange: boolean;
  /** Times at which it runs besides, and due times at which it does not. */
  readonly runExplicit: readonly WallMs[];
  readonly skipExplicit: readonly WallMs[];
  readonly enabled: boolean;
  readonly runOnStart: boolean;
  /** What becomes of a time that came while the master was away. */
  readonly missed: 'skip' | 'run';
  /** Runs at a time; undefined: any number (`jid_include: False`). */
  readonly maxRunning: number | undefined;
  readonly returners: readonly string[];
  /** Whether the result is told, and whether the job cache keeps it. */
  readonly returnJob: 'keep' | 'nocache' | 'no';
  readonly metadata?: SaltMap;
  readonly returnConfig?: SaltValue;
  readonly returnKwargs?: SaltValue;
  readonly dryRun: boolean;
  /** Changes when the entry does. */
  readonly fingerprint: string;
}

/** Something in `schedule:` that is not in force. */
export interface ScheduleFault {
  /** `job` or `job.key`; a key alone for one of the whole schedule. */
  readonly where: string;
  /** Why, in one line. It shows no values but names of functions and keys. */
  readonly why: string;
  /** The job does not run at all; else only this key of it is without effect. */
  readonly stops: boolean;
}

/** `schedule:` of a master. */
export interface Schedule {
  readonly jobs: readonly ScheduledJob[];
  readonly enabled: boolean;
  /** Runs in place of a job that `skip_during_range` or `range` keeps from running. */
  readonly skipFunction?: string;
  readonly faults: readonly ScheduleFault[];
}
