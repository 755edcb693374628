import { createHash } from 'node:crypto';
import { isMap, pack, type SaltMap, type SaltValue } from '@brine/wire';
import { CronError, readCron } from './cron.ts';
import { type DateText, isDaily, readDateText } from './date-text.ts';
import { DateTextError } from './dateutil/read-date.ts';
import type { Gates, Schedule, ScheduledJob, ScheduleFault, Splay, Timing } from './job.ts';
import { FormatError, parseByFormat } from './strptime.ts';
import { type WallMs } from './zone.ts';

/** Limit of jobs in a schedule. */
export const JOBS_MAX = 1_000;
/** Limit of times of one job in `when`, `run_explicit` and `skip_explicit`. */
const TIMES_MAX = 1_000;
/** Longest interval: a hundred years. */
const SECONDS_MAX = 100 * 365 * 86_400;
const SPLAY_MAX = 7 * 86_400;
const RUNNING_MAX = 100;
const ISO_FORMAT = '%Y-%m-%dT%H:%M:%S';

/** Entries of `schedule:` that are no jobs. */
const GLOBALS = new Set(['enabled', 'skip_function', 'skip_during_range', 'splay']);

const UNITS = { seconds: 1, minutes: 60, hours: 3_600, days: 86_400 } as const;
const TIMINGS = ['when', 'cron', 'once'] as const;

/** Supported keys of a job. */
const KEYS = new Set([
  ...Object.keys(UNITS),
  ...TIMINGS,
  ...['function', 'func', 'fun', 'name', 'args', 'kwargs', 'once_fmt', 'splay', 'range', 'until'],
  ...['skip_during_range', 'run_after_skip_range', 'after', 'run_explicit', 'skip_explicit'],
  ...['enabled', 'run_on_start', 'maxrunning', 'jid_include', 'returner', 'return_job'],
  ...['return_config', 'return_kwargs', 'metadata', 'dry_run', 'missed'],
]);

/** Keys that are easily confused, and the intended ones. */
const MEANT: Readonly<Record<string, string>> = {
  job_args: 'args',
  job_kwargs: 'kwargs',
  kwarg: 'kwargs',
  arg: 'args',
};

/** An error that stops a job, with the key that causes it. */
class JobFault extends Error {
  readonly key: string;

  constructor(key: string, why: string) {
    super(why);
    this.key = key;
  }
}

/**
 * Reads `schedule:` of a master. An unsupported part becomes a fault; the rest takes effect.
 * @param thisYear of the clock, for years of two digits
 */
export function readSchedule(given: SaltMap, thisYear: number): Schedule {
  const faults: ScheduleFault[] = [];
  const global = globalsOf(given, thisYear, faults);
  const jobs: ScheduledJob[] = [];
  for (const [name, entry] of given) {
    if (typeof name !== 'string' || GLOBALS.has(name)) continue;
    if (jobs.length >= JOBS_MAX) {
      faults.push({ where: name, why: `a schedule has at most ${JOBS_MAX} jobs`, stops: true });
      continue;
    }
    try {
      if (!isMap(entry)) throw new JobFault('', 'it is no map');
      jobs.push(jobOf(name, entry, { ...global, thisYear, faults }));
    } catch (error) {
      if (!(error instanceof JobFault)) throw error;
      const where = error.key === '' ? name : `${name}.${error.key}`;
      faults.push({ where, why: error.message, stops: true });
    }
  }
  const { enabled, skipFunction } = global;
  const named = new Set<string>();
  // Salt stores the state of a job by its name, so two jobs of one name would share it.
  const single = jobs.filter(({ name }) => {
    const isFirst = !named.has(name);
    named.add(name);
    const why = 'another job has this name';
    if (!isFirst) faults.push({ where: `${name}.name`, why, stops: true });
    return isFirst;
  });
  return { jobs: single, enabled, ...(skipFunction && { skipFunction }), faults };
}

interface Globals {
  readonly enabled: boolean;
  readonly skipFunction: string | undefined;
  readonly splay: SaltValue;
  readonly skipDuringRange: SaltValue;
}

function globalsOf(given: SaltMap, thisYear: number, faults: ScheduleFault[]): Globals {
  const skipFunction = given.get('skip_function') ?? null;
  const report = (where: string, why: string): void => {
    faults.push({ where, why, stops: true });
  };
  if (skipFunction !== null && !isFunction(skipFunction)) report('skip_function', NO_FUNCTION);
  const check = (
    key: 'splay' | 'skip_during_range',
    read: (value: SaltValue) => void,
  ): SaltValue => {
    const value = given.get(key) ?? null;
    try {
      if (value !== null) read(value);
      return value;
    } catch (error) {
      if (!(error instanceof JobFault)) throw error;
      report(key, error.message);
      return null;
    }
  };
  return {
    enabled: truthy(given.get('enabled') ?? true),
    skipFunction: isFunction(skipFunction) ? skipFunction : undefined,
    splay: check('splay', (value) => splayOf(value)),
    skipDuringRange: check('skip_during_range', (value) => {
      rangeOf('skip_during_range', value, thisYear);
    }),
  };
}

interface Reading extends Globals {
  readonly thisYear: number;
  readonly faults: ScheduleFault[];
}

function jobOf(key: string, entry: SaltMap, reading: Reading): ScheduledJob {
  const { thisYear, faults } = reading;
  const get = (name: string): SaltValue => entry.get(name) ?? null;
  const name = get('name') === null ? key : textIn(entry, 'name');
  // Salt stores notes in an entry under names with this prefix.
  const odd = [...entry.keys()].filter((one) => !isKnownKey(one));
  for (const one of odd) {
    const text = typeof one === 'string' ? one : 'a key that is no text';
    const meant = MEANT[text];
    const why = meant === undefined ? 'Salt has no such key for a job' : `write ${meant}`;
    faults.push({ where: `${key}.${text}`, why, stops: false });
  }
  const timing = timingOf(entry, thisYear);
  const splay = splayOf(entry.has('splay') ? get('splay') : reading.splay);
  const metadata = get('metadata');
  if (metadata !== null && !isMap(metadata)) {
    faults.push({ where: `${key}.metadata`, why: 'it must be a map', stops: false });
  }
  return {
    name,
    fun: functionOf(entry),
    timing,
    ...(splay === undefined ? {} : { splay }),
    args: listIn(entry, 'args'),
    kwargs: mapUnder(entry, 'kwargs'),
    gates: gatesOf(entry, reading),
    runAfterSkipRange: truthy(get('run_after_skip_range')),
    runExplicit: timesIn(entry, 'run_explicit'),
    skipExplicit: timesIn(entry, 'skip_explicit'),
    enabled: truthy(entry.has('enabled') ? get('enabled') : true),
    runOnStart: entry.has('run_on_start')
      ? truthy(get('run_on_start'))
      : timing.kind === 'interval',
    missed: missedOf(get('missed')),
    maxRunning: maxRunningOf(entry),
    returners: textsIn(entry, 'returner'),
    returnJob: returnJobOf(entry),
    ...(isMap(metadata) ? { metadata } : {}),
    ...(entry.has('return_config') ? { returnConfig: get('return_config') } : {}),
    ...(entry.has('return_kwargs') ? { returnKwargs: get('return_kwargs') } : {}),
    dryRun: truthy(get('dry_run')),
    fingerprint: createHash('sha256').update(pack(entry)).digest('hex').slice(0, 16),
  };
}

function isKnownKey(key: SaltValue): boolean {
  return typeof key === 'string' && (KEYS.has(key) || key.startsWith('_'));
}

const NO_FUNCTION = 'it names no function of the form module.function';

function functionOf(entry: SaltMap): string {
  // The first key that is present, as in Salt.
  const key = ['function', 'func', 'fun'].find((one) => entry.has(one));
  const fun = key === undefined ? null : (entry.get(key) ?? null);
  if (!isFunction(fun)) throw new JobFault(key ?? 'function', NO_FUNCTION);
  return fun;
}

function isFunction(value: SaltValue): value is string {
  return typeof value === 'string' && /^[A-Za-z_][\w.]{0,150}$/.test(value) && value.includes('.');
}

function timingOf(entry: SaltMap, thisYear: number): Timing {
  const units = Object.keys(UNITS).filter((unit) => entry.has(unit));
  const others = TIMINGS.filter((key) => entry.has(key));
  const [first] = others;
  if (others.length > 1) throw new JobFault('', `${others.join(' and ')} do not go together`);
  if (first !== undefined && units.length > 0) {
    throw new JobFault('', `${first} and ${units.join(', ')} do not go together`);
  }
  if (units.length > 0) return intervalOf(entry);
  if (first === undefined) throw new JobFault('', 'it has no time: no seconds, when, cron or once');
  if (first === 'cron') return cronOf(entry);
  if (first === 'once') return onceOf(entry);
  const given = entry.get('when') ?? null;
  const list = Array.isArray(given) ? given : [given];
  if (list.length === 0 || list.length > TIMES_MAX) {
    throw new JobFault('when', `it has no time, or more than ${TIMES_MAX}`);
  }
  return { kind: 'when', texts: list.map((text) => dateIn('when', text, thisYear)) };
}

function intervalOf(entry: SaltMap): Timing {
  let seconds = 0;
  for (const [unit, factor] of Object.entries(UNITS)) {
    if (entry.has(unit)) seconds += wholeOf(unit, entry.get(unit) ?? null) * factor;
  }
  if (seconds < 1 || seconds > SECONDS_MAX) {
    throw new JobFault('', 'its interval is shorter than a second or longer than 100 years');
  }
  return { kind: 'interval', seconds };
}

function cronOf(entry: SaltMap): Timing {
  const text = entry.get('cron');
  if (typeof text !== 'string') throw new JobFault('cron', 'a cron expression is a text');
  try {
    return { kind: 'cron', times: readCron(text) };
  } catch (error) {
    if (error instanceof CronError) throw new JobFault('cron', error.message);
    throw error;
  }
}

function onceOf(entry: SaltMap): Timing {
  const format = entry.has('once_fmt') ? textIn(entry, 'once_fmt') : ISO_FORMAT;
  return { kind: 'once', at: byFormat('once', entry.get('once') ?? null, format) };
}

function byFormat(key: string, text: SaltValue, format: string): WallMs {
  if (typeof text !== 'string') throw new JobFault(key, QUOTES);
  try {
    return parseByFormat(text, format);
  } catch (error) {
    if (error instanceof FormatError) throw new JobFault(key, error.message);
    throw error;
  }
}

/** YAML reads `17:30` as a number, on which Salt fails. */
const QUOTES = 'a time is a text: put it in quotes';

function dateIn(key: string, text: SaltValue, thisYear: number): DateText {
  if (typeof text !== 'string') throw new JobFault(key, QUOTES);
  try {
    return readDateText(text, thisYear);
  } catch (error) {
    if (!(error instanceof DateTextError)) throw error;
    throw new JobFault(key, error.message);
  }
}

function gatesOf(entry: SaltMap, { skipDuringRange, skipFunction, thisYear }: Reading): Gates {
  const date = (key: string): DateText | undefined => {
    const text = entry.get(key) ?? null;
    return text === null ? undefined : dateIn(key, text, thisYear);
  };
  const given = entry.get('range') ?? null;
  const range = given === null ? undefined : rangeOf('range', given, thisYear);
  const skipGiven = entry.has('skip_during_range')
    ? (entry.get('skip_during_range') ?? null)
    : skipDuringRange;
  const skip = skipGiven === null ? undefined : rangeOf('skip_during_range', skipGiven, thisYear);
  const until = date('until');
  const after = date('after');
  return {
    ...(range && { range: { ...range, waits: range.invert || skipFunction === undefined } }),
    ...(skip === undefined ? {} : { skipDuringRange: skip }),
    ...(until === undefined ? {} : { until }),
    ...(after === undefined ? {} : { after }),
  };
}

function rangeOf(
  key: string,
  given: SaltValue,
  thisYear: number,
): { readonly start: DateText; readonly end: DateText; readonly invert: boolean } {
  if (!isMap(given)) throw new JobFault(key, 'it must be a map with start and end');
  const start = dateIn(`${key}.start`, given.get('start') ?? null, thisYear);
  const end = dateIn(`${key}.end`, given.get('end') ?? null, thisYear);
  // Other texts may be valid on some days only.
  if (isDaily(start) && isDaily(end) && end.timeMs <= start.timeMs) {
    throw new JobFault(key, 'its end must be after its start; a range ends at midnight');
  }
  return { start, end, invert: truthy(given.get('invert') ?? false) };
}

function splayOf(given: SaltValue): Splay | undefined {
  if (!isMap(given)) {
    if (!truthy(given)) return undefined;
    return splayBetween(1, wholeOf('splay', given));
  }
  const bound = (key: string): number => wholeOf(`splay.${key}`, given.get(key) ?? null);
  return splayBetween(bound('start'), bound('end'));
}

function splayBetween(from: number, to: number): Splay {
  if (from < 0 || to < from || to > SPLAY_MAX) {
    throw new JobFault('splay', `it must be from a start to an end, up to ${SPLAY_MAX} seconds`);
  }
  return { from, to };
}

function timesIn(entry: SaltMap, key: string): readonly WallMs[] {
  const given = entry.get(key) ?? null;
  if (given === null) return [];
  if (!Array.isArray(given) || given.length > TIMES_MAX) {
    throw new JobFault(key, `it must be a list of up to ${TIMES_MAX} maps with time and time_fmt`);
  }
  return given.map((one) => {
    if (!isMap(one)) throw new JobFault(key, 'each of its times is a map with time and time_fmt');
    const format = one.get('time_fmt') ?? ISO_FORMAT;
    if (typeof format !== 'string') throw new JobFault(key, 'time_fmt is a text');
    return byFormat(key, one.get('time') ?? null, format);
  });
}

function maxRunningOf(entry: SaltMap): number | undefined {
  if (entry.has('jid_include') && !truthy(entry.get('jid_include') ?? null)) return undefined;
  if (!entry.has('maxrunning')) return 1;
  const count = wholeOf('maxrunning', entry.get('maxrunning') ?? null);
  if (count >= 1 && count <= RUNNING_MAX) return count;
  throw new JobFault('maxrunning', `it must be from 1 to ${RUNNING_MAX}`);
}

function returnJobOf(entry: SaltMap): ScheduledJob['returnJob'] {
  if (!entry.has('return_job')) return 'keep';
  const given = entry.get('return_job') ?? null;
  if (given === 'nocache') return 'nocache';
  return truthy(given) ? 'keep' : 'no';
}

function missedOf(given: SaltValue): ScheduledJob['missed'] {
  if (given === null || given === 'skip') return 'skip';
  if (given === 'run') return 'run';
  throw new JobFault('missed', 'it must be skip or run');
}

/** As Python's `int()`. */
function wholeOf(key: string, value: SaltValue): number {
  const isText = typeof value === 'string' && /^\s*[+-]?\d{1,12}\s*$/.test(value);
  const number = isText ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) {
    throw new JobFault(key, 'it must be a whole number');
  }
  return Math.trunc(number);
}

function textIn(entry: SaltMap, key: string): string {
  const value = entry.get(key);
  if (typeof value !== 'string' || value === '' || value.length > 200) {
    throw new JobFault(key, 'it must be a text of up to 200 characters');
  }
  return value;
}

function textsIn(entry: SaltMap, key: string): readonly string[] {
  const value = entry.get(key) ?? null;
  if (value === null) return [];
  const list = Array.isArray(value) ? value : [value];
  const texts = list.filter((one) => typeof one === 'string' && one !== '') as string[];
  if (texts.length !== list.length) throw new JobFault(key, 'it must be a name or a list of names');
  return [...new Set(texts)];
}

function listIn(entry: SaltMap, key: string): readonly SaltValue[] {
  const value = entry.get(key) ?? null;
  if (value === null) return [];
  if (!Array.isArray(value)) throw new JobFault(key, 'it must be a list');
  return value;
}

function mapUnder(entry: SaltMap, key: string): SaltMap {
  const value = entry.get(key) ?? null;
  if (value === null) return new Map();
  if (!isMap(value)) throw new JobFault(key, 'it must be a map');
  return value;
}

/** Python's rule of truth. */
function truthy(value: SaltValue): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isMap(value)) return value.size > 0;
  return value !== null && value !== false && value !== 0 && value !== '';
}
