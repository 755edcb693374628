import { judgeLater } from '@brine/master/functions';
import {
  type Asked,
  ASKED_MAX,
  type AskedOfJob,
  FormatError,
  isEnabled,
  momentOf,
  nextDue,
  parseByFormat,
  readSchedule,
  type Schedule,
  type ScheduledJob,
  type ScheduleState,
  wallOf,
  type Zone,
} from '@brine/schedule';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr, strftime } from '@brine/wire/text';
import {
  type BoundArguments,
  masterOf,
  type RunnerContext,
  type RunnerFunction,
  type RunnerMaster,
} from '../function.ts';
import type { ScheduledRun } from './schedule-admin.ts';

/** Format of times, as in Salt's own module. */
const FORMAT = '%Y-%m-%dT%H:%M:%S';

/** Entries of `schedule:` that are no jobs. */
const GLOBALS: ReadonlySet<SaltValue> = new Set([
  ...['enabled', 'skip_function', 'skip_during_range', 'splay'],
]);

/** Time for which an expired request is kept, ms. */
const KEPT_MS = 86_400_000;

/** Number of shown runs of a job. */
const SHOWN_RUNS = 5;

/** The current schedule of the cluster. */
interface View {
  readonly given: SaltMap;
  readonly schedule: Schedule;
  readonly asked: Asked;
  readonly state: ScheduleState | undefined;
}

async function viewOf(context: RunnerContext): Promise<View> {
  const master = masterOf(context);
  const option = master.option('schedule');
  const given = isMap(option) ? option : mapOf({});
  const schedule = readSchedule(given, new Date(master.now()).getUTCFullYear());
  const [asked, state] = await Promise.all([master.schedule.asked(), master.schedule.state()]);
  return { given, schedule, asked, state };
}

function jobNamed({ schedule }: View, name: SaltValue): ScheduledJob | undefined {
  return schedule.jobs.find((job) => job.name === name);
}

/** The form of times in an answer. */
interface ShownTimes {
  readonly format: string;
  readonly in: Zone;
}

const UTC: Zone = { offsetAt: () => 0 };

/** Times in the zone of the master; of UTC where a call asks for it. */
function timesOfMaster(context: RunnerContext, format: string, { utc = false } = {}): ShownTimes {
  return { format, in: utc ? UTC : masterOf(context).schedule.zone };
}

/** The next time of a job by the wall clock; null: never. */
function nextTimeOf(
  view: View,
  job: ScheduledJob,
  context: RunnerContext,
  { format, in: shownIn }: ShownTimes,
): SaltValue {
  const master = masterOf(context);
  const { zone } = master.schedule;
  const state = view.state?.jobs.get(job.name);
  if (state === undefined || !isEnabled(view.schedule, job, view.asked)) return null;
  const loop = master.option('loop_interval');
  const loopMs = (typeof loop === 'number' ? loop : 60) * 1000;
  const dueMs = nextDue(job, state, master.now(), { zone, loopMs, asked: view.asked });
  return dueMs === undefined ? null : timeText(dueMs, { format, in: shownIn });
}

function timeText(ms: number, { format, in: zone }: ShownTimes): string {
  return strftime(new Date(wallOf(ms, zone)), format);
}

/** The parameter for times in UTC, in place of those of the master. */
const IN_UTC = ['utc', false] as const;
const WITH_UTC = 'utc=True: times in UTC.';

/** An entry of the configuration with the current `enabled`. */
function entryOf(view: View, key: SaltValue): SaltMap | undefined {
  const entry = view.given.get(key);
  if (!isMap(entry) || GLOBALS.has(key)) return undefined;
  const name = entry.get('name') ?? key;
  const job = jobNamed(view, name);
  const shown: SaltMap = new Map([...entry].filter(([, value]) => value !== null));
  return shown.set('enabled', job === undefined ? false : isOn(view, job));
}

/** True if a job is switched on, whatever the whole schedule is. */
function isOn({ asked }: View, job: ScheduledJob): boolean {
  return isEnabled({ enabled: true }, job, { jobs: asked.jobs });
}

const list: RunnerFunction = {
  name: 'schedule.list',
  parameters: [
    ['show_all', false],
    ['show_disabled', true],
  ],
  doc:
    "Lists the jobs of the master's schedule as they are written, with enabled as it is now. " +
    'Without show_all jobs whose names begin with __ are left out, without show_disabled those ' +
    'that are switched off.',
  async run({ named }, context) {
    const view = await viewOf(context);
    const found: SaltMap = new Map();
    for (const key of view.given.keys()) {
      const entry = entryOf(view, key);
      if (entry === undefined) {
        if (GLOBALS.has(key)) found.set(key, view.given.get(key) ?? null);
        continue;
      }
      if (pyStr(key).startsWith('__') && named.get('show_all') !== true) continue;
      if (named.get('show_disabled') === false && entry.get('enabled') === false) continue;
      found.set(key, entry);
    }
    if (view.asked.enabled !== undefined) found.set('enabled', view.asked.enabled);
    return { value: found };
  },
};

const status: RunnerFunction = {
  name: 'schedule.status',
  parameters: [['name', null], IN_UTC],
  doc:
    "Shows for each job of the master's schedule, or for one, when it runs next, how its last " +
    'runs ended, and why it did not run when it was due. What of the schedule is not in force ' +
    `stands under not_in_force. ${WITH_UTC}`,
  async run({ named }, context) {
    const view = await viewOf(context);
    const { schedule: admin } = masterOf(context);
    const times = timesOfMaster(context, FORMAT, { utc: named.get('utc') === true });
    const wanted = named.get('name') ?? null;
    const found: SaltMap = new Map();
    for (const job of view.schedule.jobs) {
      if (wanted !== null && job.name !== wanted) continue;
      const runs = await admin.runs(job.name);
      const skipped = view.state?.jobs.get(job.name)?.skipped;
      found.set(
        job.name,
        mapOf({
          function: job.fun,
          enabled: isEnabled(view.schedule, job, view.asked),
          next_fire_time: nextTimeOf(view, job, context, times),
          runs: runs.slice(0, SHOWN_RUNS).map((run) => shownRun(run, times)),
          skipped: skipped && mapOf({ time: timeText(skipped.at, times), reason: skipped.reason }),
        }),
      );
    }
    const { faults } = view.schedule;
    if (wanted !== null || faults.length === 0) return { value: found };
    const lines = faults.map(({ where, why }): [SaltValue, SaltValue] => [where, why]);
    found.set('not_in_force', new Map(lines));
    return { value: found };
  },
};

function shownRun(run: ScheduledRun, times: ShownTimes): SaltMap {
  const { dueMs, jid, endedMs, success, retcode, reason } = run;
  return mapOf({
    due: timeText(dueMs, times),
    jid: jid === '' ? undefined : jid,
    ended: endedMs === undefined || reason !== undefined ? undefined : timeText(endedMs, times),
    running: endedMs === undefined ? true : undefined,
    success,
    retcode: retcode === 0 ? undefined : retcode,
    skipped: reason,
  });
}

const nextFireTime: RunnerFunction = {
  name: 'schedule.show_next_fire_time',
  parameters: [['name']],
  doc:
    "Shows when a job of the master's schedule runs next, in the time of the master. None means " +
    'never.',
  async run({ named }, context) {
    const view = await viewOf(context);
    const job = jobNamed(view, named.get('name') ?? null);
    if (job === undefined) return { value: unknownJob(named.get('name')) };
    const next = nextTimeOf(view, job, context, timesOfMaster(context, FORMAT));
    return { value: mapOf({ result: true, next_fire_time: next }) };
  },
};

const jobStatus: RunnerFunction = {
  name: 'schedule.job_status',
  parameters: [['name'], ['time_fmt', FORMAT]],
  doc:
    "Shows a job of the master's schedule as Salt does: its entry, and what is known of it under " +
    'names that begin with _. time_fmt may have %Y, %m, %d, %H, %M and %S.',
  async run({ named }, context) {
    const view = await viewOf(context);
    const job = jobNamed(view, named.get('name') ?? null);
    if (job === undefined) return { value: mapOf({}) };
    const times = timesOfMaster(context, pyStr(named.get('time_fmt') ?? FORMAT));
    const key = [...view.given.keys()].find((one) => nameOf(view.given, one) === job.name);
    const state = view.state?.jobs.get(job.name);
    const time = (ms: number | undefined): SaltValue =>
      ms === undefined ? null : timeText(ms, times);
    const seconds = job.timing.kind === 'interval' ? job.timing.seconds : undefined;
    const { skipped } = state ?? {};
    const known = mapOf({
      name: job.name,
      _seconds: seconds,
      _next_fire_time: nextTimeOf(view, job, context, times),
      _last_run: state?.lastDue === undefined ? undefined : time(state.lastDue),
      ...(skipped && {
        _skipped: true,
        _skip_reason: skipped.reason,
        _skipped_time: time(skipped.at),
      }),
    });
    return { value: new Map([...(entryOf(view, key ?? null) ?? mapOf({})), ...known]) };
  },
};

function nameOf(given: SaltMap, key: SaltValue): SaltValue {
  const entry = given.get(key);
  return isMap(entry) ? (entry.get('name') ?? key) : null;
}

const enabled: RunnerFunction = {
  name: 'schedule.is_enabled',
  parameters: [['name', null]],
  doc:
    "Without a name: whether the master's schedule is switched on. With one: the job as " +
    'schedule.list shows it, {} if it is unknown.',
  async run({ named }, context) {
    const view = await viewOf(context);
    const name = named.get('name') ?? null;
    if (name === null) return { value: view.asked.enabled ?? view.schedule.enabled };
    const key = [...view.given.keys()].find((one) => nameOf(view.given, one) === name);
    return { value: entryOf(view, key ?? null) ?? mapOf({}) };
  },
};

const runJob: RunnerFunction = {
  name: 'schedule.run_job',
  parameters: [['name'], ['force', false]],
  doc:
    "Runs a job of the master's schedule within seconds, besides its times. maxrunning limits " +
    'it too. A job that is switched off runs only with force=True.',
  async run({ named }, context) {
    const view = await viewOf(context);
    const master = masterOf(context);
    const name = named.get('name') ?? null;
    const job = jobNamed(view, name);
    if (job === undefined) return { value: unknownJob(name) };
    if (!isEnabled(view.schedule, job, view.asked)) {
      if (named.get('force') !== true) {
        return { value: outcome(`Job ${job.name} is disabled.`) };
      }
      // The due times of a job that is switched off are skipped, so it runs as a call of its own.
      return { value: await runForced(job, context) };
    }
    await judgeJob(master, job);
    const at = master.now();
    await change(context, job.name, (asked) => ({ ...asked, runs: [...asked.runs, at] }));
    return { value: outcome(`Scheduling Job ${job.name} on the master.`) };
  },
};

/**
 * Judges a scheduled job that a call starts: the caller must have the right to its function.
 * @throws InnerCallRefusedError
 */
async function judgeJob(master: RunnerMaster, { fun, args, kwargs }: ScheduledJob): Promise<void> {
  const kind = (await master.local.knows('runner', fun)) ? 'runner' : 'wheel';
  judgeLater(master, master.call, { kind, fun, args, kwargs });
}

async function runForced(job: ScheduledJob, context: RunnerContext): Promise<SaltMap> {
  await masterOf(context).run(job.fun, { args: job.args, kwargs: job.kwargs });
  return outcome(`Job ${job.name} ran.`);
}

/** Switches a job, or the whole schedule. */
function switching(name: string, isJob: boolean, to: boolean): RunnerFunction {
  const message = to ? 'Enabled' : 'Disabled';
  const done = message.toLowerCase();
  const what = isJob ? "a job of the master's schedule" : "the master's schedule";
  return {
    name,
    parameters: isJob ? [['name']] : [],
    doc:
      `Switches ${what} ${to ? 'on' : 'off'}, for all masters of the cluster and until it is ` +
      'switched again. The configuration stays as it is.',
    async run({ named }, context) {
      const master = masterOf(context);
      if (!isJob) {
        const { schedule } = await viewOf(context);
        for (const job of to ? schedule.jobs : []) await judgeJob(master, job);
        await master.schedule.ask((asked) => ({ ...asked, enabled: to }));
        return {
          value: outcome(`${message} schedule on the master.`, { changes: ['schedule', done] }),
        };
      }
      const given = named.get('name') ?? null;
      const job = jobNamed(await viewOf(context), given);
      if (job === undefined) return { value: unknownJob(given) };
      if (to) await judgeJob(master, job);
      await change(context, job.name, (asked) => ({ ...asked, enabled: to }));
      const comment = `${message} Job ${job.name} in schedule.`;
      return { value: outcome(comment, { changes: [job.name, done] }) };
    },
  };
}

const skipJob: RunnerFunction = {
  name: 'schedule.skip_job',
  parameters: [['name'], ['current_time'], ['time_fmt', FORMAT], IN_UTC],
  doc:
    "Leaves out one time of a job of the master's schedule, in the time of the master and in the " +
    `format time_fmt. ${WITH_UTC}`,
  async run(given, context) {
    const { job, times, fault } = await timesOf(given, ['current_time'], context);
    const [time] = times;
    if (job === undefined || time === undefined) return { value: fault };
    await change(context, job.name, (asked) => ({ ...asked, skips: [...asked.skips, time] }));
    return { value: outcome(`Added Skip Job ${job.name} in schedule.`) };
  },
};

const postponeJob: RunnerFunction = {
  name: 'schedule.postpone_job',
  parameters: [['name'], ['current_time'], ['new_time'], ['time_fmt', FORMAT], IN_UTC],
  doc:
    "Lets a job of the master's schedule run at new_time in place of current_time, both in the " +
    `time of the master and in the format time_fmt. ${WITH_UTC}`,
  async run(given, context) {
    const { job, times, fault } = await timesOf(given, ['current_time', 'new_time'], context);
    const [current, later] = times;
    if (job === undefined || current === undefined || later === undefined) return { value: fault };
    const master = masterOf(context);
    await judgeJob(master, job);
    const moment = momentOf(later, master.schedule.zone);
    await change(context, job.name, (asked) => ({
      ...asked,
      skips: [...asked.skips, current],
      runs: [...asked.runs, moment],
    }));
    return { value: outcome(`Postponed Job ${job.name} in schedule.`) };
  },
};

/** The job and the times of a call, or Salt's text of a fault. */
async function timesOf(
  { named }: BoundArguments,
  names: readonly string[],
  context: RunnerContext,
): Promise<{
  readonly job: ScheduledJob | undefined;
  readonly times: readonly number[];
  readonly fault: SaltMap;
}> {
  const name = named.get('name') ?? null;
  const format = pyStr(named.get('time_fmt') ?? FORMAT);
  const { zone } = masterOf(context).schedule;
  const asWall = (ms: number): number => (named.get('utc') === true ? wallOf(ms, zone) : ms);
  const times: number[] = [];
  for (const one of names) {
    try {
      times.push(asWall(parseByFormat(pyStr(named.get(one) ?? ''), format)));
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      const fault = outcome('Date string could not be parsed.', { result: false });
      return { job: undefined, times: [], fault };
    }
  }
  return { job: jobNamed(await viewOf(context), name), times, fault: unknownJob(name) };
}

/** Changes the requests for a job, and drops expired ones. */
async function change(
  context: RunnerContext,
  name: string,
  make: (asked: AskedOfJob) => AskedOfJob,
): Promise<void> {
  const master = masterOf(context);
  const { schedule: admin } = master;
  const oldMs = master.now() - KEPT_MS;
  const oldWall = wallOf(oldMs, admin.zone);
  await admin.ask((asked) => {
    const made = make(asked.jobs.get(name) ?? { runs: [], skips: [] });
    const runs = made.runs.filter((moment) => moment > oldMs);
    const skips = made.skips.filter((wall) => wall > oldWall);
    if (runs.length > ASKED_MAX || skips.length > ASKED_MAX) {
      throw new Error(`more than ${ASKED_MAX} times of ${name} are asked for`);
    }
    return { ...asked, jobs: new Map([...asked.jobs, [name, { ...made, runs, skips }]]) };
  });
}

function unknownJob(name: SaltValue | undefined): SaltMap {
  return outcome(`Job ${pyStr(name ?? null)} does not exist.`, { result: false });
}

/** The answer of functions that change something, as in Salt's own module. */
function outcome(
  comment: string,
  more: {
    readonly result?: boolean;
    readonly changes?: readonly [name: string, what: string];
  } = {},
): SaltMap {
  const { result = true, changes } = more;
  const [name, what] = changes ?? [];
  const changed = name === undefined ? undefined : mapOf({ [name]: what });
  return mapOf({ comment, result, changes: changed });
}

/** Functions about the master's own schedule, with the names of Salt's module on minions. */
export const SCHEDULE_RUNNER: readonly RunnerFunction[] = [
  list,
  status,
  nextFireTime,
  jobStatus,
  enabled,
  runJob,
  switching('schedule.enable_job', true, true),
  switching('schedule.disable_job', true, false),
  switching('schedule.enable', false, true),
  switching('schedule.disable', false, false),
  skipJob,
  postponeJob,
];
