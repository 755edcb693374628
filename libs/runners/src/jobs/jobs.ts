import { type JobRecords, type JobSearch, minionsOf, splitInput } from '@brine/client';
import { isJid, jidStartTime } from '@brine/job';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { BoundArguments, RunnerFunction } from '../function.ts';
import { runOnMinions } from '../minions/run-on-minions.ts';

/** Salt's text for an unknown jid. */
export const UNKNOWN_JOB = 'Cannot contact returner or no job with this jid';

/** A job as Salt's runner shows it (Salt: salt/runners/jobs.py _format_jid_instance). */
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
    const metadata = metadataOf(load, args);
    if (metadata !== undefined) shown.set('Metadata', metadata);
    if (load.has('Minions')) shown.set('Minions', load.get('Minions') ?? []);
  }
  return shown.set('StartTime', isJid(jid) ? jidStartTime(jid) : '');
}

function metadataOf(load: SaltMap, args: readonly SaltValue[]): SaltValue | undefined {
  const direct = load.get('metadata') ?? mapIn(load, 'kwargs')?.get('metadata');
  if (direct !== undefined) return direct;
  const keywords = args.filter(isMap).find((arg) => arg.get('__kwarg__') === true);
  return keywords?.get('metadata');
}

/** The argument `jid` as text: a jid without quotes is a number to the parser of arguments. */
export function jidOf(given: BoundArguments): string {
  return pyStr(given.named.get('jid') ?? '');
}

async function listJob(jobs: JobRecords, jid: string): Promise<SaltMap> {
  const load = await jobs.load(jid);
  const shown: SaltMap = new Map<SaltValue, SaltValue>([['jid', jid], ...describeJob(jid, load)]);
  return shown.set('Result', await jobs.returns(jid));
}

async function printJob(jobs: JobRecords, jid: string): Promise<SaltMap> {
  const job = await listJob(jobs, jid);
  job.delete('jid');
  return new Map([[jid, job]]);
}

const EXT_SOURCE = ['ext_source', null] as const;
const PROGRESS = ['display_progress', false] as const;

const lookupJid: RunnerFunction = {
  name: 'jobs.lookup_jid',
  parameters: [['jid'], EXT_SOURCE, ['returned', true], ['missing', false], PROGRESS],
  doc: 'Shows what a job returned. missing=True adds the minions that did not return.',
  async run(given, { jobs }) {
    const job = await listJob(jobs, jidOf(given));
    const returns = mapIn(job, 'Result') ?? new Map<SaltValue, SaltValue>();
    const shown: SaltMap = new Map();
    let outputter: string | undefined;
    for (const [id, row] of returns) {
      if (!isMap(row)) continue;
      if (shown.size === 0) outputter = textOf(row, 'out');
      if (given.named.get('returned') !== false) shown.set(id, row.get('return') ?? null);
    }
    if (given.named.get('missing') === true) {
      for (const id of minionsOf(job)) {
        if (!returns.has(id)) shown.set(id, 'Minion did not return');
      }
    }
    return outputter === undefined ? { value: shown } : { value: shown, outputter };
  },
};

const listJobFunction: RunnerFunction = {
  name: 'jobs.list_job',
  parameters: [['jid'], EXT_SOURCE, PROGRESS],
  doc: 'Shows everything known of a job.',
  run: async (given, { jobs }) => ({ value: await listJob(jobs, jidOf(given)) }),
};

const printJobFunction: RunnerFunction = {
  name: 'jobs.print_job',
  parameters: [['jid'], EXT_SOURCE],
  doc: 'Shows everything known of a job, under its id.',
  run: async (given, { jobs }) => ({ value: await printJob(jobs, jidOf(given)) }),
};

function searchOf(given: BoundArguments, names: Readonly<Record<string, string>>): JobSearch {
  const value = (name: string): SaltValue | undefined => given.named.get(names[name] ?? name);
  const functions = splitInput(value('search_function'));
  const targets = splitInput(value('search_target'));
  const metadata = value('search_metadata');
  const startMs = timeOf(value('start_time'));
  const endMs = timeOf(value('end_time'));
  return {
    ...(functions === undefined ? {} : { functions }),
    ...(targets === undefined ? {} : { targets }),
    ...(isMap(metadata) ? { metadata } : {}),
    ...(startMs === undefined ? {} : { startMs }),
    ...(endMs === undefined ? {} : { endMs }),
  };
}

/** A time as people write it, `2015, Mar 16 19:00` or ISO; job ids are in UTC, and so is this. */
export function timeOf(value: SaltValue | undefined): number | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const plain = value.replace(',', '').trim();
  const zoned = /(?:Z|[+-]\d\d:?\d\d)$/.test(plain) ? plain : `${plain} UTC`;
  const ms = Date.parse(/^\d{4}-\d\d-\d\dT/.test(plain) && zoned !== plain ? `${plain}Z` : zoned);
  return Number.isNaN(ms) ? undefined : ms;
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
  // The list may be long: a command line reads it page by page.
  where: 'command',
  parameters: [EXT_SOURCE, ['outputter', null], ...SEARCH, PROGRESS],
  doc:
    'Lists jobs. search_function and search_target take globs, search_metadata a dictionary, ' +
    'start_time and end_time a time; all conditions must hold.',
  run: (given, { jobs }) =>
    Promise.resolve({
      ...shownWith(given, new Map<SaltValue, SaltValue>()),
      pages: jobs.pages(searchOf(given, {})),
    }),
};

const listJobsFilter: RunnerFunction = {
  name: 'jobs.list_jobs_filter',
  parameters: [['count'], ['filter_find_job', true], EXT_SOURCE, ['outputter', null], PROGRESS],
  doc: 'Lists the newest jobs, without find_job unless filter_find_job=False.',
  async run(given, { jobs }) {
    const limit = Math.max(1, Number(given.named.get('count')) || 1);
    const leaveOutHidden = given.named.get('filter_find_job') !== false;
    const found = await jobs.list({ limit, leaveOutHidden });
    const list = [...found].map(([jid, job]): SaltMap => {
      const { StartTime, ...rest } = Object.fromEntries(job) as Record<string, SaltValue>;
      return mapOf({ ...rest, JID: jid, StartTime });
    });
    return shownWith(given, list);
  },
};

function shownWith(
  given: BoundArguments,
  value: SaltValue,
): { value: SaltValue; outputter?: string } {
  const outputter = given.named.get('outputter');
  return typeof outputter === 'string' ? { value, outputter } : { value };
}

const exitSuccess: RunnerFunction = {
  name: 'jobs.exit_success',
  parameters: [['jid'], EXT_SOURCE],
  doc: 'Shows for each minion of a job whether it returned something true.',
  async run(given, { jobs }) {
    const job = await listJob(jobs, jidOf(given));
    const returns = mapIn(job, 'Result') ?? new Map<SaltValue, SaltValue>();
    const shown: SaltMap = new Map(minionsOf(job).map((id) => [id, false]));
    for (const [id, row] of returns) {
      if (isMap(row) && isTrue(row.get('return') ?? null)) shown.set(id, true);
    }
    return { value: shown };
  },
};

/** Python's truth. */
function isTrue(value: SaltValue): boolean {
  if (typeof value === 'string' || Array.isArray(value)) return value.length > 0;
  if (isMap(value)) return value.size > 0;
  return value !== null && value !== false && value !== 0;
}

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
  doc: 'Shows the newest job of a function, a target or with some metadata.',
  async run(given, { jobs }) {
    const search = searchOf(given, {
      search_metadata: 'metadata',
      search_function: 'function',
      search_target: 'target',
    });
    const newest = [...(await jobs.list({ ...search, limit: 1 })).keys()].at(-1);
    return { value: newest === undefined ? false : await printJob(jobs, newest) };
  },
};

const active: RunnerFunction = {
  name: 'jobs.active',
  parameters: [PROGRESS],
  doc: 'Lists the jobs that minions run now, and the durable jobs that wait for minions.',
  async run(_given, { client, jobs }) {
    const command = { tgt: '*', tgtType: 'glob', fun: 'saltutil.running', arg: [] };
    const found: SaltMap = new Map();
    for (const item of (await runOnMinions(client, command)) ?? []) {
      if (item.kind !== 'return' || !Array.isArray(item.ret)) continue;
      for (const job of item.ret.filter(isMap)) addRunning(found, item.id, job);
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

/** A durable job: how many minions it waits for, until when, and which were sent it again. */
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

/** The functions of the jobs runner. */
export const JOBS_RUNNER: readonly RunnerFunction[] = [
  active,
  exitSuccess,
  lastRun,
  listJobFunction,
  listJobs,
  listJobsFilter,
  lookupJid,
  printJobFunction,
];
