import type { Asked, ScheduleState, Zone } from '@brine/schedule';

/** A recorded run of a scheduled job. */
export interface ScheduledRun {
  /** The due time, unix ms. */
  readonly dueMs: number;
  /** Job id of the run; empty for one that did not begin. */
  readonly jid: string;
  /** Id of its process, current or last. */
  readonly worker: string;
  /** Time of that process's last beat for the run, unix ms. */
  readonly seenMs: number;
  /** Absent while it runs. */
  readonly endedMs?: number;
  readonly success?: boolean;
  readonly retcode?: number;
  /** Why it did not begin, with Salt's text. */
  readonly reason?: string;
}

/**
 * The master's schedule for functions. Each method rejects with BusError while the buckets are
 * unreachable.
 */
export interface ScheduleAdmin {
  /** The zone of this process, in which the schedule is read. */
  readonly zone: Zone;
  /** The state that the owner of the schedule saved last; undefined before that. */
  state(): Promise<ScheduleState | undefined>;
  /** The requests of operators. */
  asked(): Promise<Asked>;
  /** Changes the requests; the schedule applies them within seconds. */
  ask(change: (asked: Asked) => Asked): Promise<void>;
  /** The remembered runs of a job, the newest first. */
  runs(name: string): Promise<readonly ScheduledRun[]>;
}
