import { dueReactionId, type QueuedAs, type Reaction } from '@brine/bus/reactions';
import type { StoredRun } from '@brine/cluster-work';
import {
  type Asked,
  beginState,
  type Due,
  type DueSettings,
  type JobState,
  latenessOf,
  nextDue,
  NOTHING_ASKED,
  readState,
  SAVE_MS,
  type Schedule,
  type ScheduleState,
  type Skipped,
  stateMap,
  stepSchedule,
  type Zone,
} from '@brine/schedule';
import { sleepUnless, type Trouble } from '@brine/tasks';
import { mapOf, pack } from '@brine/wire';

export interface OwnerParts {
  /** Jobs that this master can run. */
  readonly schedule: Schedule;
  readonly zone: Zone;
  /** Name of the time zone; all processes must have the same. */
  readonly zoneName: string;
  /** Salt's `loop_interval`, in ms. */
  readonly loopMs: number;
  readonly queue: { add(reaction: Reaction): Promise<QueuedAs> };
  /** Reads the requests of operators. */
  readonly asked: () => Promise<Asked>;
  readonly count: (outcome: ScheduleOutcome) => void;
  readonly onTrouble: Trouble;
  /** Unix ms. */
  readonly now: () => number;
}

/** The outcome of a due time, for the metrics. */
export type ScheduleOutcome = 'queued' | 'skipped' | 'missed' | 'dropped';

/** Interval at which the requests of operators and the clock are checked. */
const LOOK_MS = 1_000;
const ASK_TIMEOUT_MS = 500;

/**
 * Owns the schedule of the cluster until its run is released. A due job goes into the queue of all
 * processes under its name and time, so it is queued once. Queued jobs are saved; a process that
 * takes over in between queues them again, under the same name.
 */
export class ScheduleOwner {
  readonly #parts: OwnerParts;
  readonly #reckoned: NonNullable<DueSettings['reckoned']> = new WeakMap();
  #asked: Asked = NOTHING_ASKED;
  #isDelayed = false;

  constructor(parts: OwnerParts) {
    this.#parts = parts;
  }

  /** Never rejects: failures are retried until the run is released. */
  async work(run: StoredRun): Promise<void> {
    const { schedule, now } = this.#parts;
    this.#noteZone(run);
    await this.#ask();
    const before = readState(run.data);
    let state = beginState(schedule, before, now(), this.#settings());
    let savedMs: number | undefined;
    while (!run.released.aborted) {
      try {
        // The start is saved first, so that the next process does not start the schedule again.
        if (savedMs === undefined) {
          await run.save(this.#stored(state));
          savedMs = now();
        }
        const step = await this.#look(run, state);
        if (step.changed || now() - savedMs >= SAVE_MS) {
          await run.save(this.#stored(step.state));
          savedMs = now();
        }
        state = step.state;
        this.#isDelayed = false;
      } catch (err) {
        if (run.released.aborted) return;
        this.#delayed(err);
      }
      await sleepUnless(this.#untilNext(state), run.released);
      await this.#ask();
    }
  }

  /** Queues the jobs that are due now. */
  async #look(
    run: StoredRun,
    state: ScheduleState,
  ): Promise<{ readonly state: ScheduleState; readonly changed: boolean }> {
    const { schedule, now } = this.#parts;
    const step = stepSchedule(schedule, state, now(), this.#settings());
    run.check();
    for (const due of step.due) await this.#queue(due);
    for (const skipped of step.skipped) this.#noteSkipped(skipped);
    return { state: step.state, changed: step.due.length + step.skipped.length > 0 };
  }

  async #queue({ job, fun, dueMs, why }: Due): Promise<void> {
    const { queue, count, now, onTrouble } = this.#parts;
    const queued = await queue.add({
      kind: 'due',
      id: dueReactionId(job.name, dueMs),
      name: job.name,
      timeMs: dueMs,
      body: pack(mapOf({ fun, why })),
    });
    // Known: this process or its predecessor has queued it.
    if (queued === 'added') count('queued');
    if (queued !== 'full') return;
    // Retried as long as its time counts.
    if (now() - dueMs < latenessOf(this.#settings())) throw new QueueFullError();
    count('dropped');
    onTrouble(`the queue is full: ${job.name} does not run at ${new Date(dueMs).toISOString()}`);
  }

  #noteSkipped({ name, dueMs, reason }: Skipped): void {
    const { count, onTrouble } = this.#parts;
    count(reason === 'missed' ? 'missed' : 'skipped');
    if (reason !== 'missed') return;
    const time = new Date(dueMs).toISOString();
    onTrouble(`the schedule was not served: ${name} did not run at ${time}`);
  }

  /** Reads the requests of operators; keeps the last ones if the bucket does not answer. */
  async #ask(): Promise<void> {
    const late = sleepUnless(ASK_TIMEOUT_MS, undefined).then(() => undefined);
    const asked = await Promise.race([this.#parts.asked().catch(() => undefined), late]);
    this.#asked = asked ?? this.#asked;
  }

  #settings(): DueSettings {
    const { zone, loopMs } = this.#parts;
    return { zone, loopMs, asked: this.#asked, reckoned: this.#reckoned };
  }

  #untilNext(state: ScheduleState): number {
    const { schedule, now } = this.#parts;
    const settings = this.#settings();
    let nextMs = LOOK_MS;
    for (const job of schedule.jobs) {
      const known: JobState | undefined = state.jobs.get(job.name);
      const dueMs = known && nextDue(job, known, now(), settings);
      if (dueMs !== undefined) nextMs = Math.min(nextMs, dueMs - now());
    }
    // During a retry the next time is over already.
    return this.#isDelayed ? LOOK_MS : Math.max(1, nextMs);
  }

  #stored(state: ScheduleState) {
    return stateMap(state).set('zone', this.#parts.zoneName);
  }

  /** Workers of another time zone would compute other due times. */
  #noteZone(run: StoredRun): void {
    const { zoneName, onTrouble } = this.#parts;
    const before = run.data.get('zone');
    if (typeof before !== 'string' || before === zoneName) return;
    onTrouble(`the schedule was kept in the time zone ${before}, here it is ${zoneName}`);
  }

  #delayed(err: unknown): void {
    if (!this.#isDelayed) this.#parts.onTrouble('the schedule is delayed', err);
    this.#isDelayed = true;
  }
}

class QueueFullError extends Error {
  override readonly name = 'QueueFullError';

  constructor() {
    super('the queue of reactions is full');
  }
}
