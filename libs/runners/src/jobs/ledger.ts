import { type JobRecords, splitInput } from '@brine/client';
import { listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { type RunnerFunction } from '../function.ts';
import { jidOf, timeOf, UNKNOWN_JOB } from './jobs.ts';

/** States of minions that have not returned; `late` ones have. */
const SILENT_STATES: ReadonlySet<SaltValue> = new Set(['waiting', 'never']);

/** A jid that is not in the job cache. */
class UnknownJobError extends Error {
  override readonly name = 'UnknownJobError';

  constructor(jid: string) {
    super(`${UNKNOWN_JOB}: ${jid}`);
  }
}

const why: RunnerFunction = {
  name: 'jobs.why',
  parameters: [['jid'], ['minion', null]],
  doc:
    'Shows the cause for each minion that is silent about a job, with the evidence and its ' +
    'times; or for the given minions, in any state. The cause comes first.',
  async run(given, { jobs }) {
    const jid = jidOf(given);
    const found = await jobs.why(jid, splitInput(given.named.get('minion')));
    if (found === undefined) throw new UnknownJobError(jid);
    const shown = [...found].map(([id, { cause, text }]) => [id, mapOf({ cause, text })] as const);
    return { value: new Map<SaltValue, SaltValue>(shown) };
  },
};

/** The minions of a job that never returned, with their state. */
async function missingOf(jobs: JobRecords, jid: string): Promise<SaltMap> {
  const row = await jobs.row(jid);
  if (row === undefined) throw new UnknownJobError(jid);
  const silent = [...(mapIn(row, 'states') ?? [])].filter(([, state]) => SILENT_STATES.has(state));
  return new Map(silent);
}

const missing: RunnerFunction = {
  name: 'jobs.missing',
  parameters: [['jid']],
  doc:
    'Lists the targeted minions of a job that have not returned: "waiting" before the deadline ' +
    'of the job, "never" after it.',
  run: async (given, { jobs }) => ({ value: await missingOf(jobs, jidOf(given)) }),
};

const rerun: RunnerFunction = {
  name: 'jobs.rerun',
  parameters: [['jid'], ['missing', false]],
  doc:
    'Publishes a job again, to the minions that have not returned, and shows the new jid. ' +
    'missing: must be True, also by --missing. The metadata of the new job names the old one ' +
    'under rerun_of. A minion runs the job twice if it ran it before and its return was lost: ' +
    'ask jobs.why first.',
  async run(given, { jobs, client }) {
    const jid = jidOf(given);
    if (given.named.get('missing') !== true) {
      throw new Error('add --missing: only minions that have not returned are asked again');
    }
    const ids = [...(await missingOf(jobs, jid)).keys()].map((id) => pyStr(id));
    if (ids.length === 0) return { value: 'Every minion of this job has returned.' };
    const load = await jobs.load(jid);
    const fun = load?.get('fun');
    if (load === undefined || fun === undefined) throw new UnknownJobError(jid);
    const kwargs = mapIn(load, 'kwargs') ?? mapOf({});
    const metadata = mapIn(kwargs, 'metadata') ?? mapIn(load, 'metadata') ?? mapOf({});
    const returners = textOf(load, 'ret');
    const job = await client.publish({
      tgt: ids,
      tgtType: 'list',
      fun: Array.isArray(fun) ? fun.map(pyStr) : pyStr(fun),
      arg: listOf(load, 'arg') ?? [],
      kwargs: mapOf({ metadata: new Map([...metadata, ['rerun_of', jid]]) }),
      ...(returners === undefined || returners === '' ? {} : { ret: returners }),
    });
    if (job === undefined) return { value: 'None of these minions is known any more.' };
    return { value: job.jid };
  },
};

const at: RunnerFunction = {
  name: 'jobs.at',
  parameters: [['jid'], ['time']],
  doc:
    'Shows where the minions of a job stood at a moment (UTC unless the time has a zone): ' +
    'the ledger, the deadline as it was then, and the state of each minion.',
  async run(given, { jobs }) {
    const jid = jidOf(given);
    const atMs = timeOf(given.named.get('time'));
    if (atMs === undefined) throw new Error('a time is needed, such as 2026-11-22T12:00:00');
    const state = await jobs.at(jid, atMs);
    if (state === undefined) throw new UnknownJobError(jid);
    return { value: describeAt(state, atMs) };
  },
};

/** The counts of the ledger in its order, then the minions. */
function describeAt(state: SaltMap, atMs: number): SaltMap {
  const shown = mapOf({ At: iso(atMs), Published: iso(state.get('publishedMs')) });
  const states = mapIn(state, 'states');
  if (states === undefined) return shown.set('Ledger', 'not published yet');
  const counts = new Map<SaltValue, number>(LEDGER_STATES.map((name) => [name, 0]));
  for (const one of states.values()) counts.set(one, (counts.get(one) ?? 0) + 1);
  shown.set('Deadline', iso(state.get('deadlineMs')));
  shown.set('Ledger', new Map<SaltValue, SaltValue>([['targeted', states.size], ...counts]));
  return shown.set('Minions', states);
}

const LEDGER_STATES = ['waiting', 'returned', 'failed', 'late', 'never'] as const;

function iso(ms: SaltValue | undefined): string {
  return typeof ms === 'number' ? new Date(ms).toISOString() : 'none';
}

/** Functions of the jobs runner about the ledger, which Salt does not have. */
export const LEDGER_RUNNER: readonly RunnerFunction[] = [at, missing, rerun, why];
