import type { Asked, ScheduleState, Zone } from '@brine/schedule';

/** A run of a job of the schedule, as it is on record. */
export interface ScheduledRun {
  /** The time that was due, unix ms. */
  readonly dueMs: number;
  /** Job id of the run; empty for one that did not begin. */
  readonly jid: string;
  /** Id of the process that has it, or had it. */
  readonly worker: string;
  /** When that process last said that the run goes on, unix ms. */
  readonly seenMs: number;
  /** Absent while it runs. */
  readonly endedMs?: number;
  readonly success?: boolean;
  readonly retcode?: number;
  /** Why it did not begin, in Salt's words. */
  readonly reason?: string;
}

/**
 * What functions see of the master's schedule and ask of it. Each rejects with BusError while the
 * buckets are away.
 */
export interface ScheduleAdmin {
  /** That of the process, in which the schedule is meant. */
  readonly zone: Zone;
  /** What the process that looks after the schedule has saved; undefined before that. */
  state(): Promise<ScheduleState | undefined>;
  /** What operators asked of it. */
  asked(): Promise<Asked>;
  /** Changes that; the schedule heeds it within seconds. */
  ask(change: (asked: Asked) => Asked): Promise<void>;
  /** The runs of a job that are remembered, the newest first. */
  runs(name: string): Promise<readonly ScheduledRun[]>;
}
