import { createHash } from 'node:crypto';
import { nextTime } from './date-text.ts';
import { endOfSpan, firstAllowed, isInSpan, keptBy, type SkipReason } from './gates.ts';
import type { Schedule, ScheduledJob, Splay, Timing } from './job.ts';
import {
  type Asked,
  ASKED_MAX,
  type JobState,
  NOTHING_ASKED,
  type ScheduleState,
} from './state.ts';
import { momentOf, type WallMs, wallOf, type Zone } from './zone.ts';

/** Settings for the computation of due times. */
export interface DueSettings {
  readonly zone: Zone;
  /** Salt's `loop_interval`, in ms: the delay at which a time still counts in Salt. */
  readonly loopMs: number;
  /** Requests of operators; absent: none. */
  readonly asked?: Asked;
  /** Caches results by state, for a schedule that is evaluated often. */
  readonly reckoned?: WeakMap<JobState, Reckoned>;
}

/** Results that depend on the state of a job alone, and not on the time. */
export interface Reckoned {
  /** The next time, before `splay` and `range`. */
  readonly baseMs: number | undefined;
  readonly dueMs: number | undefined;
}

/**
 * Save interval of a schedule without due times; it shows other processes that the schedule is
 * served.
 */
export const SAVE_MS = 20_000;
/**
 * A schedule without a save for this time was not served: it starts again. The last save may be one
 * interval old, and less than a minute is no restart.
 */
const AWAY_MS = 60_000 + SAVE_MS;
/** Minimum delay at which a time still counts: a takeover takes less. */
const LATE_MS = 60_000;
/** Limit of due times of one job in one step; the others follow in the next one. */
const AT_ONCE = 100;

/** A job that is to run now. */
export interface Due {
  readonly job: ScheduledJob;
  /** Its function, or `skip_function` in its place. */
  readonly fun: string;
  /** The due time, unix ms; the same in every process. */
  readonly dueMs: number;
  readonly why: 'time' | 'start' | 'explicit';
}

/** A job that was due and does not run. */
export interface Skipped {
  readonly name: string;
  readonly dueMs: number;
  readonly reason: SkipReason;
}

/** The result of one step of the schedule. */
export interface Step {
  readonly state: ScheduleState;
  readonly due: readonly Due[];
  readonly skipped: readonly Skipped[];
}

/** The next due time of a job. */
interface Planned {
  readonly why: Due['why'];
  readonly dueMs: number;
  /** Without `splay`. */
  readonly baseMs: number;
}

/**
 * The state with which a process starts to serve a schedule: new or changed jobs begin again. If
 * the schedule was not served, jobs with `run_on_start` are due at once.
 */
export function beginState(
  schedule: Schedule,
  before: ScheduleState | undefined,
  nowMs: number,
  { loopMs }: DueSettings,
): ScheduleState {
  const wasAway = before === undefined || nowMs - before.aliveMs > AWAY_MS;
  const jobs = schedule.jobs.map((job): [string, JobState] => {
    const known = before?.jobs.get(job.name);
    const start = job.runOnStart ? { startAt: nowMs } : {};
    if (known?.fingerprint === job.fingerprint) {
      const next = wasAway ? { ...known, ...start } : known;
      return [job.name, wasAway ? countedAgain(job, next, nowMs) : next];
    }
    // A date within the last minute still counts, as in Salt.
    const isDate = job.timing.kind === 'when' || job.timing.kind === 'once';
    const from = isDate ? nowMs - loopMs : nowMs;
    const { fingerprint } = job;
    const explicitUpTo = nowMs - loopMs;
    return [job.name, { fingerprint, from, ...start, runs: [], explicitUpTo }];
  });
  return { jobs: new Map(jobs), aliveMs: nowMs };
}

/** An interval that ended meanwhile begins again, as when a Salt master starts. */
function countedAgain(job: ScheduledJob, state: JobState, nowMs: number): JobState {
  const { timing, missed } = job;
  if (timing.kind !== 'interval' || missed === 'run' || state.startAt !== undefined) return state;
  return state.from + timing.seconds * 1000 <= nowMs ? { ...state, from: nowMs } : state;
}

/**
 * Evaluates the schedule: the due jobs, and the state once they are queued. The same state and a
 * later time give the same due times.
 */
export function stepSchedule(
  schedule: Schedule,
  state: ScheduleState,
  nowMs: number,
  settings: DueSettings,
): Step {
  const due: Due[] = [];
  const skipped: Skipped[] = [];
  const jobs = new Map(state.jobs);
  for (const job of schedule.jobs) {
    let known = jobs.get(job.name);
    for (let turn = 0; known !== undefined && turn < AT_ONCE; turn += 1) {
      const planned = plannedOf(job, known, nowMs, settings);
      if (planned === undefined || planned.dueMs > nowMs) break;
      const handled = handle({ job, known, planned, nowMs, schedule, settings });
      known = handled.known;
      if (handled.due !== undefined) due.push(handled.due);
      if (handled.skipped !== undefined) skipped.push(handled.skipped);
    }
    if (known !== undefined) jobs.set(job.name, known);
  }
  return { state: { jobs, aliveMs: Math.max(state.aliveMs, nowMs) }, due, skipped };
}

/** The next due time of a job (unix ms); undefined: never. */
export function nextDue(
  job: ScheduledJob,
  state: JobState,
  nowMs: number,
  settings: DueSettings,
): number | undefined {
  return plannedOf(job, state, nowMs, settings)?.dueMs;
}

/** The delay at which a time still counts, in ms. */
export function latenessOf({ loopMs }: DueSettings): number {
  return Math.max(loopMs, LATE_MS);
}

/** True if a job runs when it is due. */
export function isEnabled(
  schedule: Pick<Schedule, 'enabled'>,
  job: Pick<ScheduledJob, 'name' | 'enabled'>,
  asked: Asked = NOTHING_ASKED,
): boolean {
  const ofJob = asked.jobs.get(job.name)?.enabled ?? job.enabled;
  return (asked.enabled ?? schedule.enabled) && ofJob;
}

function plannedOf(
  job: ScheduledJob,
  state: JobState,
  nowMs: number,
  settings: DueSettings,
): Planned | undefined {
  const { startAt } = state;
  if (startAt !== undefined) return { why: 'start', dueMs: startAt, baseMs: startAt };
  const explicit = explicitOf(job, state, settings);
  const timed = timedOf(job, state, nowMs, settings);
  if (explicit === undefined) return timed;
  if (timed !== undefined && timed.dueMs < explicit) return timed;
  return { why: 'explicit', dueMs: explicit, baseMs: explicit };
}

function explicitOf(
  job: ScheduledJob,
  state: JobState,
  { zone, asked = NOTHING_ASKED }: DueSettings,
): number | undefined {
  const written = job.runExplicit.map((wall) => momentOf(wall, zone));
  const all = [...written, ...state.runs, ...(asked.jobs.get(job.name)?.runs ?? [])];
  const coming = all.filter((moment) => moment > state.explicitUpTo);
  return coming.length === 0 ? undefined : Math.min(...coming);
}

function timedOf(
  job: ScheduledJob,
  state: JobState,
  nowMs: number,
  settings: DueSettings,
): Planned | undefined {
  const { zone, reckoned } = settings;
  const known = reckoned?.get(state) ?? reckonedOf(job, state, zone);
  reckoned?.set(state, known);
  const { baseMs, dueMs } = known;
  if (baseMs === undefined || dueMs === undefined) return undefined;
  if (job.timing.kind !== 'interval') return { why: 'time', dueMs, baseMs };
  // An overdue run starts as soon as it is allowed, and keeps its due time as its name.
  const isLate = nowMs - dueMs > latenessOf(settings);
  const laterMs = isLate ? firstAllowed(job.gates.range, nowMs, zone) : nowMs;
  if (laterMs === undefined) return undefined;
  return { why: 'time', dueMs: laterMs === nowMs ? dueMs : laterMs, baseMs };
}

function reckonedOf(job: ScheduledJob, state: JobState, zone: Zone): Reckoned {
  const baseMs = baseOf(job.timing, state.from, zone);
  if (baseMs === undefined) return { baseMs, dueMs: undefined };
  const splayed = baseMs + splayMs(job.splay, job.name, baseMs);
  const isInterval = job.timing.kind === 'interval';
  const dueMs = isInterval ? firstAllowed(job.gates.range, splayed, zone) : splayed;
  return { baseMs, dueMs };
}

function baseOf(timing: Timing, from: number, zone: Zone): number | undefined {
  if (timing.kind === 'interval') return from + timing.seconds * 1000;
  if (timing.kind === 'once') {
    const moment = momentOf(timing.at, zone);
    return moment > from ? moment : undefined;
  }
  const next = (after: WallMs): WallMs | undefined =>
    timing.kind === 'cron'
      ? timing.times.next(after)
      : earliest(timing.texts.map((text) => nextTime(text, after)));
  let wall = next(wallOf(from, zone));
  // In an hour that comes twice, wall times map to moments that are over.
  while (wall !== undefined && momentOf(wall, zone) <= from) wall = next(wall);
  return wall === undefined ? undefined : momentOf(wall, zone);
}

function earliest(times: readonly (WallMs | undefined)[]): WallMs | undefined {
  const some = times.filter((time) => time !== undefined);
  return some.length === 0 ? undefined : Math.min(...some);
}

/** Derived from the name and the time, so that every process computes the same. */
function splayMs(splay: Splay | undefined, name: string, baseMs: number): number {
  if (splay === undefined) return 0;
  const drawn = createHash('sha256').update(`${name}\n${baseMs}`).digest().readUInt32BE(0);
  return (splay.from + (drawn % (splay.to - splay.from + 1))) * 1000;
}

interface Handling {
  readonly job: ScheduledJob;
  readonly known: JobState;
  readonly planned: Planned;
  readonly nowMs: number;
  readonly schedule: Schedule;
  readonly settings: DueSettings;
}

interface Handled {
  readonly known: JobState;
  readonly due?: Due;
  readonly skipped?: Skipped;
}

/** Runs or skips a planned time of a job. */
function handle(handling: Handling): Handled {
  const { job, planned, nowMs, schedule, settings } = handling;
  const { dueMs, why } = planned;
  const isLate = nowMs - dueMs > latenessOf(settings);
  const isInterval = job.timing.kind === 'interval';
  const after = handledState(handling, isLate);
  const skip = (reason: SkipReason, next: JobState = after): Handled => ({
    known: { ...next, skipped: { at: nowMs, reason } },
    skipped: { name: job.name, dueMs, reason },
  });
  const run = (fun: string): Handled => {
    return { known: { ...after, lastDue: dueMs }, due: { job, fun, dueMs, why } };
  };
  if (!isEnabled(schedule, job, settings.asked)) return skip('disabled');
  // As in Salt no other gate applies at the start.
  if (why === 'start') return run(job.fun);
  const mayBeMissed = why === 'explicit' || !isInterval;
  if (isLate && mayBeMissed && job.missed !== 'run') return skip('missed');
  const wall = wallOf(isLate ? nowMs : dueMs, settings.zone);
  const skips = settings.asked?.jobs.get(job.name)?.skips ?? [];
  const kept = keptBy(job, skips, wall, settings.loopMs);
  if (kept === undefined) return run(job.fun);
  if (kept.takesSkipFunction && schedule.skipFunction !== undefined) {
    return run(schedule.skipFunction);
  }
  return skip(kept.reason, withRunAfter(handling, after, wall));
}

/** The state of a job after a planned time. */
function handledState(handling: Handling, isLate: boolean): JobState {
  const { job, known, planned, nowMs, settings } = handling;
  const { why, dueMs, baseMs } = planned;
  const { startAt: _started, ...rest } = known;
  const isInterval = job.timing.kind === 'interval';
  if (why === 'start') return isInterval ? { ...rest, from: dueMs } : rest;
  if (why === 'explicit') {
    const runs = known.runs.filter((moment) => moment > dueMs);
    return { ...rest, ...(isInterval ? { from: dueMs } : {}), runs, explicitUpTo: dueMs };
  }
  return { ...rest, from: fromAfter({ job, dueMs, baseMs, nowMs, isLate, settings }) };
}

/** The base of the next time. */
function fromAfter(about: {
  readonly job: ScheduledJob;
  readonly dueMs: number;
  readonly baseMs: number;
  readonly nowMs: number;
  readonly isLate: boolean;
  readonly settings: DueSettings;
}): number {
  const { job, dueMs, baseMs, nowMs, isLate, settings } = about;
  if (job.timing.kind === 'interval') return isLate ? nowMs : dueMs;
  // Missed times are skipped, or combined into one run.
  if (isLate) return job.missed === 'run' ? nowMs : Math.max(baseMs, nowMs - latenessOf(settings));
  return job.timing.kind === 'when' ? baseMs : dueMs;
}

/** Adds a run right after the span that kept the job from running. */
function withRunAfter({ job, settings }: Handling, next: JobState, wall: WallMs): JobState {
  const span = job.gates.skipDuringRange;
  if (!job.runAfterSkipRange || span === undefined || isInSpan(span, wall) !== true) return next;
  const end = endOfSpan(span, wall);
  if (end === undefined) return next;
  const moment = momentOf(end + settings.loopMs, settings.zone);
  if (next.runs.includes(moment) || next.runs.length >= ASKED_MAX) return next;
  return { ...next, runs: [...next.runs, moment] };
}
