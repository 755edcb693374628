import { type JobSearch, minionsOf, splitInput } from '@brine/client';
import { isJid, jidStartTime } from '@brine/job';
import { DateTextError, readDate } from '@brine/schedule';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { hasSecretArguments, metadataOf } from '@brine/wire/load';
import { isTruthy, pyRepr, pyStr, typeName } from '@brine/wire/text';
import { InvalidArgumentsError } from '../arguments.ts';
import {
  type BoundArguments,
  masterOf,
  type RunnerContext,
  type RunnerFunction,
  type Shown,
} from '../function.ts';
import { numberGiven } from '../given-values.ts';
import { returnsOf } from '../minions/run-on-minions.ts';
import { printMessage } from '../progress.ts';

/** Salt's text for an unknown jid. */
export const UNKNOWN_JOB = 'Cannot contact returner or no job with this jid';

/** A job in the form of Salt's runner (Salt: salt/runners/jobs.py _format_jid_instance). */
function describeJob(jid: string, load: SaltMap | undefined): SaltMap {
  const shown: SaltMap = new Map();
  if (load === undefined) {
    shown.set('Error', UNKNOWN_JOB);
  } else {
    const args = listOf(load, 'arg') ?? [];
    shown.set('Function', load.get('fun') ?? 'unknown-function');
    shown.set('Arguments', args);
    shown.set('Target', load.get('tgt') ?? 'unknown-target');
    shown.set('Target-type', load.get('tgt_type') ?? 'list');
    shown.set('User', load.get('user') ?? 'root');
    const metadata = metadataOf(load);
    if (metadata !== undefined) shown.set('Metadata', metadata);
    if (load.has('Minions')) shown.set('Minions', load.get('Minions') ?? []);
  }
  return shown.set('StartTime', isJid(jid) ? jidStartTime(jid) : '');
}

/** The argument `jid` as text: a jid without quotes is a number to the parser of arguments. */
export function jidOf(given: BoundArguments): string {
  return pyStr(given.named.get('jid') ?? '');
}

/** Names of this job cache. */
const OWN_SOURCES: ReadonlySet<SaltValue> = new Set([null, '', 'local_cache', 'pgjsonb']);

/** Refuses another `ext_source`: all jobs are in one job cache. */
function checkSource({ named }: BoundArguments): void {
  const source = named.get('ext_source') ?? null;
  if (OWN_SOURCES.has(source)) return;
  throw new Error(`ext_source=${pyStr(source)} is not in force: Brine has one job cache`);
}

/** Salt's line about the queried source, if `display_progress` is on. */
async function printQuery(
  { named }: BoundArguments,
  context: RunnerContext,
  rest: string,
): Promise<void> {
  const wanted = isTruthy(named.get('display_progress'));
  await printMessage(context, wanted, `Querying returner local_cache${rest}`);
}

/** Adds the returns of a job, and its end time if `job_cache_store_endtime` is on. */
async function withResult(shown: SaltMap, jid: string, context: RunnerContext): Promise<SaltMap> {
  const { jobs, master } = context;
  shown.set('Result', await jobs.returns(jid));
  if (!isTruthy(master?.option('job_cache_store_endtime'))) return shown;
  const ended = await jobs.endTime(jid);
  if (ended === undefined) return shown;
  // The time in the form of a job id: its digits are a date and a time in UTC.
  const digits = `${new Date(ended).toISOString().replace(/\D/g, '')}000`;
  return isJid(digits) ? shown.set('EndTime', jidStartTime(digits)) : shown;
}

async function listJob(jid: string, context: RunnerContext): Promise<SaltMap> {
  const load = await context.jobs.load(jid);
  const shown: SaltMap = new Map<SaltValue, SaltValue>([['jid', jid], ...describeJob(jid, load)]);
  return withResult(shown, jid, context);
}

async function printJob(jid: string, context: RunnerContext): Promise<SaltMap> {
  const shown = describeJob(jid, await context.jobs.load(jid));
  return new Map([[jid, await withResult(shown, jid, context)]]);
}

const EXT_SOURCE = ['ext_source', null] as const;
const PROGRESS = ['display_progress', false] as const;

const WITH_PROGRESS = 'display_progress=True shows the progress.';

const lookupJid: RunnerFunction = {
  name: 'jobs.lookup_jid',
  parameters: [['jid'], EXT_SOURCE, ['returned', true], ['missing', false], PROGRESS],
  doc:
    'Shows what a job returned. returned=False leaves out the minions that did (default True), ' +
    `missing=True adds those that did not (default False). ${WITH_PROGRESS}`,
  async run(given, context) {
    checkSource(given);
    await printQuery(given, context, '');
    const { named } = given;
    const job = await listJob(jidOf(given), context);
    const returns = mapIn(job, 'Result') ?? new Map<SaltValue, SaltValue>();
    const shown: SaltMap = new Map();
    for (const [id, row] of returns) {
      await printMessage(context, isTruthy(named.get('display_progress')), pyStr(id));
      if (isMap(row) && isTruthy(named.get('returned'))) shown.set(id, row.get('return') ?? null);
    }
    if (isTruthy(named.get('missing'))) {
      for (const id of minionsOf(job)) {
        if (!returns.has(id)) shown.set(id, 'Minion did not return');
      }
    }
    const [first] = returns.values();
    const outputter = isMap(first) ? textOf(first, 'out') : undefined;
    return outputter === undefined ? { value: shown } : { value: shown, outputter };
  },
};

const listJobFunction: RunnerFunction = {
  name: 'jobs.list_job',
  parameters: [['jid'], EXT_SOURCE, PROGRESS],
  doc: `Shows everything known of a job. ${WITH_PROGRESS}`,
  async run(given, context) {
    checkSource(given);
    await printQuery(given, context, '');
    return { value: await listJob(jidOf(given), context) };
  },
};

const printJobFunction: RunnerFunction = {
  name: 'jobs.print_job',
  parameters: [['jid'], EXT_SOURCE],
  doc: 'Shows everything known of a job, under its id.',
  async run(given, context) {
    checkSource(given);
    return { value: await printJob(jidOf(given), context) };
  },
};

/**
 * The conditions of a search, without its times; undefined if no job can meet them: metadata that
 * are no dictionary.
 */
function searchOf(
  given: BoundArguments,
  names: Readonly<Record<string, string>>,
): JobSearch | undefined {
  const value = (name: string): SaltValue | undefined => given.named.get(names[name] ?? name);
  const inputs = (name: string) => (isTruthy(value(name)) ? splitInput(value(name)) : undefined);
  const functions = inputs('search_function');
  const targets = inputs('search_target');
  const metadata = value('search_metadata');
  if (isTruthy(metadata) && !isMap(metadata)) return undefined;
  return {
    ...(functions === undefined ? {} : { functions }),
    ...(targets === undefined ? {} : { targets }),
    ...(isMap(metadata) && metadata.size > 0 ? { metadata } : {}),
  };
}

/**
 * Adds the times of a search. Salt reads a time for each job that meets the other conditions, so an
 * unreadable time is no error without such a job: then nothing is found.
 * @throws the errors of {@link givenTime}
 */
async function withTimes(
  search: JobSearch,
  { named }: BoundArguments,
  { jobs }: RunnerContext,
): Promise<JobSearch | undefined> {
  let found = search;
  for (const [name, to] of [
    ['start_time', 'startMs'],
    ['end_time', 'endMs'],
  ] as const) {
    try {
      const ms = givenTime(named.get(name));
      if (ms !== undefined) found = { ...found, [to]: ms };
    } catch (error) {
      if ((await jobs.list({ ...found, limit: 1 })).size > 0) throw error;
      return undefined;
    }
  }
  return found;
}

/** A day with or without a time, that lost its quotes: a number to the parser of arguments. */
const DATE_DIGITS = /^(?:\d{8}|\d{12}|\d{14})$/;

function givenTime(value: SaltValue | undefined): number | undefined {
  if (value === undefined || !isTruthy(value)) return undefined;
  const text = pyStr(value);
  if (typeof value !== 'string' && !DATE_DIGITS.test(text)) {
    const what = `not ${typeName(value)}`;
    throw new InvalidArgumentsError(`Parser must be a string or character stream, ${what}`);
  }
  try {
    return readDate(text, Date.now());
  } catch (error) {
    if (!(error instanceof DateTextError)) throw error;
    throw new Error(`dateutil.parser._parser.ParserError: ${error.message}`, { cause: error });
  }
}

/** A time as people write it, `2015, Mar 16 19:00` or ISO, in UTC like job ids. */
export function timeOf(value: SaltValue | undefined): number | undefined {
  if (typeof value !== 'string') return undefined;
  try {
    return readDate(value, Date.now());
  } catch (error) {
    if (error instanceof DateTextError) return undefined;
    throw error;
  }
}

const SEARCH = [
  ['search_metadata', null],
  ['search_function', null],
  ['search_target', null],
  ['start_time', null],
  ['end_time', null],
] as const;

const listJobs: RunnerFunction = {
  name: 'jobs.list_jobs',
  parameters: [EXT_SOURCE, ['outputter', null], ...SEARCH, PROGRESS],
  doc:
    'Lists jobs. search_function and search_target take globs, search_metadata a dictionary of ' +
    'which one entry must match, start_time and end_time a time; all conditions must match. ' +
    `outputter names the outputter. ${WITH_PROGRESS}`,
  async run(given, context) {
    checkSource(given);
    await printQuery(given, context, ' for jobs.');
    const conditions = searchOf(given, {});
    const search = conditions && (await withTimes(conditions, given, context));
    const shown = shownWith(given, new Map<SaltValue, SaltValue>());
    return search === undefined ? shown : { ...shown, pages: context.jobs.pages(search) };
  },
};

const listJobsFilter: RunnerFunction = {
  name: 'jobs.list_jobs_filter',
  parameters: [['count'], ['filter_find_job', true], EXT_SOURCE, ['outputter', null], PROGRESS],
  doc:
    'Lists the newest jobs, count of them, without find_job unless filter_find_job=False. ' +
    `outputter names the outputter. ${WITH_PROGRESS}`,
  async run(given, context) {
    checkSource(given);
    await printQuery(given, context, ' for jobs.');
    const limit = countOf(given.named.get('count') ?? null);
    const leaveOutHidden = isTruthy(given.named.get('filter_find_job'));
    if (limit < 1) return shownWith(given, []);
    const found = await context.jobs.list({ limit, leaveOutHidden });
    const list = [...found].map(([jid, job]): SaltMap => {
      const { StartTime, ...rest } = Object.fromEntries(job) as Record<string, SaltValue>;
      return mapOf({ ...rest, JID: jid, StartTime });
    });
    return shownWith(given, list);
  },
};

/**
 * The number of jobs; a value that is no number is refused with Python's text for the comparison.
 */
function countOf(count: SaltValue): number {
  const number = numberGiven(count);
  if (number !== undefined) return Math.floor(number);
  const types = `'int' and '${typeName(count)}'`;
  throw new InvalidArgumentsError(`'>' not supported between instances of ${types}`);
}

function shownWith({ named }: BoundArguments, value: SaltValue): Shown {
  const outputter = named.get('outputter');
  return isTruthy(outputter) ? { value, outputter: pyStr(outputter ?? '') } : { value };
}

const exitSuccess: RunnerFunction = {
  name: 'jobs.exit_success',
  parameters: [['jid'], EXT_SOURCE],
  doc: 'Shows for each minion of a job whether it returned something true.',
  async run(given, context) {
    checkSource(given);
    const job = await listJob(jidOf(given), context);
    const returns = mapIn(job, 'Result') ?? new Map<SaltValue, SaltValue>();
    const shown: SaltMap = new Map(minionsOf(job).map((id) => [id, false]));
    for (const [id, row] of returns) {
      if (isMap(row) && isTruthy(row.get('return'))) shown.set(id, true);
    }
    return { value: shown };
  },
};

const lastRun: RunnerFunction = {
  name: 'jobs.last_run',
  parameters: [
    EXT_SOURCE,
    ['outputter', null],
    ['metadata', null],
    ['function', null],
    ['target', null],
    PROGRESS,
  ],
  doc:
    'Shows the newest job of a function, a target or with some metadata; all conditions must ' +
    `match. False if no job does. outputter names the outputter. ${WITH_PROGRESS}`,
  async run(given, context) {
    checkSource(given);
    await printQuery(given, context, ' for jobs.');
    const search = searchOf(given, {
      search_metadata: 'metadata',
      search_function: 'function',
      search_target: 'target',
    });
    if (search === undefined) return { value: false };
    const newest = [...(await context.jobs.list({ ...search, limit: 1 })).keys()].at(-1);
    if (newest === undefined) return { value: false };
    return shownWith(given, await printJob(newest, context));
  },
};

const active: RunnerFunction = {
  name: 'jobs.active',
  parameters: [PROGRESS],
  doc:
    'Lists the jobs that minions run now, and the durable jobs that wait for minions. ' +
    WITH_PROGRESS,
  async run({ named }, context) {
    const { jobs } = context;
    const command = { tgt: '*', tgtType: 'glob', fun: 'saltutil.running', arg: [], isOwn: true };
    const found: SaltMap = new Map();
    const wanted = isTruthy(named.get('display_progress'));
    const answers = await returnsOf(context, command);
    const asked = `Attempting to contact minions: ${pyRepr([...answers.keys()])}`;
    await printMessage(context, wanted, asked);
    for (const [id, running] of answers) {
      await printMessage(context, wanted, `Received reply from minion ${pyStr(id)}`);
      if (!Array.isArray(running)) continue;
      for (const job of running.filter(isMap)) addRunning(found, pyStr(id), job);
    }
    for (const job of await jobs.durable()) {
      const jid = textOf(job, 'jid') ?? '';
      const shown = mapIn(found, jid) ?? describeJob(jid, await jobs.load(jid));
      found.set(jid, shown.set('Durable', durableShown(job)));
    }
    for (const [jid, job] of found) {
      if (isMap(job)) job.set('Returned', [...(await jobs.returns(pyStr(jid))).keys()]);
    }
    return { value: found };
  },
};

const ofMaster: RunnerFunction = {
  name: 'jobs.master',
  parameters: [],
  doc: 'Lists the runners that run now in the cluster, with the process that runs each.',
  async run(_given, context) {
    const calls = await masterOf(context).runs.calls();
    const shown = calls.map(({ kind, fun, jid, user, args, kwargs, owner }) => {
      const all = [...args, ...(kwargs.size > 0 ? [kwargs] : [])];
      const full = `${kind}.${fun}`;
      const words = hasSecretArguments(full) ? [] : all;
      // The id of a process begins with its process id.
      const pid = Number.parseInt(owner, 10);
      const process = Number.isNaN(pid) ? null : pid;
      return mapOf({ fun: full, jid, user, fun_args: words, pid: process });
    });
    return { value: shown };
  },
};

/** A durable job: how many minions it waits for, until when, and which got it again. */
function durableShown(job: SaltMap): SaltMap {
  const until = job.get('notAfter');
  return mapOf({
    Until: typeof until === 'number' ? new Date(until).toISOString() : null,
    Targeted: job.get('targeted') ?? 0,
    Waiting: job.get('waiting') ?? 0,
    Turns: job.get('turns') ?? 0,
    'Sent again': job.get('sentAgain') ?? 0,
  });
}

function addRunning(found: SaltMap, id: string, job: SaltMap): void {
  const jid = textOf(job, 'jid');
  if (jid === undefined) return;
  const place: SaltMap = new Map([[id, job.get('pid') ?? null]]);
  const known = mapIn(found, jid);
  if (known !== undefined) {
    listOf(known, 'Running')?.push(place);
    return;
  }
  found.set(jid, describeJob(jid, job).set('Running', [place]).set('Returned', []));
}

/** Functions that need a master. */
const IN_MASTER: readonly RunnerFunction[] = [ofMaster];

/** Functions that ask the job cache and minions by a client. */
export const JOBS_BY_CLIENT: readonly RunnerFunction[] = [
  active,
  exitSuccess,
  lastRun,
  listJobFunction,
  listJobs,
  listJobsFilter,
  lookupJid,
  printJobFunction,
];

export const JOBS_RUNNER: readonly RunnerFunction[] = [...JOBS_BY_CLIENT, ...IN_MASTER];
