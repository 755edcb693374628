import { isMap, listOf, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import type { WallMs } from './zone.ts';

/** The state of a job. Moments are unix ms. */
export interface JobState {
  readonly fingerprint: string;
  /** Start of the current interval; for other kinds, due times up to here are done. */
  readonly from: number;
  /** The start of the schedule at which it has to run. */
  readonly startAt?: number;
  /** Runs that `run_after_skip_range` adds. */
  readonly runs: readonly number[];
  /** Explicit runs (`run_explicit`, `schedule.run_job`) up to here are done. */
  readonly explicitUpTo: number;
  /** Last due time that was queued. */
  readonly lastDue?: number;
  /** Last time at which it was stopped, and the reason. */
  readonly skipped?: { readonly at: number; readonly reason: string };
}

export interface ScheduleState {
  readonly jobs: ReadonlyMap<string, JobState>;
  /** Last time at which the schedule was served. */
  readonly aliveMs: number;
}

/** Requests of operators about one job. */
export interface AskedOfJob {
  /** Switched on or off; undefined: as its entry. */
  readonly enabled?: boolean;
  /** Moments of additional runs. */
  readonly runs: readonly number[];
  /** Due times that are skipped. */
  readonly skips: readonly WallMs[];
}

/** Requests of operators about the running schedule, in addition to its configuration. */
export interface Asked {
  /** Switched on or off; undefined: as the configuration. */
  readonly enabled?: boolean;
  readonly jobs: ReadonlyMap<string, AskedOfJob>;
}

export const NOTHING_ASKED: Asked = { jobs: new Map() };

/** Limit of extra runs and of skipped times of one job, each. */
export const ASKED_MAX = 100;

/** The state as a map that can be stored. */
export function stateMap({ jobs, aliveMs }: ScheduleState): SaltMap {
  const list = [...jobs].map(([name, state]): [SaltValue, SaltValue] => [name, jobMap(state)]);
  return mapOf({ alive: aliveMs, jobs: new Map(list) });
}

function jobMap(state: JobState): SaltMap {
  const { fingerprint, from, startAt, runs, explicitUpTo, lastDue, skipped } = state;
  return mapOf({
    fingerprint,
    from,
    startAt,
    lastDue,
    explicitUpTo,
    runs: someOf(runs),
    skipped: skipped === undefined ? undefined : [skipped.at, skipped.reason],
  });
}

function someOf(numbers: readonly number[]): SaltValue | undefined {
  return numbers.length === 0 ? undefined : [...numbers];
}

/** Reads what {@link stateMap} made; undefined for a map without a state. */
export function readState(stored: SaltMap): ScheduleState | undefined {
  const aliveMs = stored.get('alive');
  const jobs = stored.get('jobs');
  if (typeof aliveMs !== 'number' || !isMap(jobs)) return undefined;
  return { jobs: readJobs(jobs, jobState), aliveMs };
}

/** The requests as a map that can be stored. */
export function askedMap({ enabled, jobs }: Asked): SaltMap {
  const list = [...jobs].map(([name, asked]): [SaltValue, SaltValue] => {
    const { enabled: isOn, runs, skips } = asked;
    return [name, mapOf({ enabled: isOn, runs: someOf(runs), skips: someOf(skips) })];
  });
  return mapOf({ enabled, jobs: new Map(list) });
}

/** Reads the output of {@link askedMap}; any other map gives no requests. */
export function readAsked(stored: SaltMap): Asked {
  const jobs = stored.get('jobs');
  if (!isMap(jobs)) return NOTHING_ASKED;
  const read = (map: SaltMap): AskedOfJob => ({
    ...switched(map),
    runs: numbersIn(map, 'runs').slice(-ASKED_MAX),
    skips: numbersIn(map, 'skips').slice(-ASKED_MAX),
  });
  return { ...switched(stored), jobs: readJobs(jobs, read) };
}

function switched(map: SaltMap): { readonly enabled?: boolean } {
  const enabled = map.get('enabled');
  return typeof enabled === 'boolean' ? { enabled } : {};
}

function readJobs<T>(
  stored: SaltMap,
  read: (map: SaltMap) => T | undefined,
): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const [name, map] of stored) {
    const one = typeof name === 'string' && isMap(map) ? read(map) : undefined;
    if (one !== undefined) found.set(name as string, one);
  }
  return found;
}

function numbersIn(map: SaltMap, key: string): readonly number[] {
  return (listOf(map, key) ?? []).filter((one) => typeof one === 'number');
}

function jobState(map: SaltMap): JobState | undefined {
  const number = (key: string): number | undefined => {
    const value = map.get(key);
    return typeof value === 'number' ? value : undefined;
  };
  const fingerprint = textOf(map, 'fingerprint');
  const from = number('from');
  if (fingerprint === undefined || from === undefined) return undefined;
  const startAt = number('startAt');
  const lastDue = number('lastDue');
  const [at, reason] = listOf(map, 'skipped') ?? [];
  return {
    fingerprint,
    from,
    runs: numbersIn(map, 'runs'),
    explicitUpTo: number('explicitUpTo') ?? from,
    ...(startAt === undefined ? {} : { startAt }),
    ...(lastDue === undefined ? {} : { lastDue }),
    ...(typeof at === 'number' && typeof reason === 'string' ? { skipped: { at, reason } } : {}),
  };
}
