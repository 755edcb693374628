import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { metadataOf } from '@brine/wire/load';
import { pyStr } from '@brine/wire/text';
import type { MasterPorts } from '../ports/ports.ts';
import { type JobReader, sightOfJob } from './job-sight.ts';
import { whySilent } from './why-silent.ts';

/** Reads something for a caller; null: there is no such thing, or none that it may see. */
export type Read = (ports: MasterPorts, reader: JobReader, args: SaltMap) => Promise<SaltValue>;

/** Reads of jobs, by name. */
export const JOB_READS: readonly (readonly [string, Read])[] = [
  ['jobs', jobs],
  ['job', job],
  ['job_minions', within('page_minions')],
  ['job_return', oneReturn],
  ['job_groups', within('page_groups')],
  ['job_states', within('page_states')],
  ['job_timeline', within('page_timeline')],
  ['job_again', again],
  ['job_why', why],
  ['past_runs', pastRuns],
  ['job_numbers', numbers],
];

/** Jobs with their counts; of a limited caller its own. */
async function jobs(ports: MasterPorts, reader: JobReader, args: SaltMap): Promise<SaltValue> {
  if (reader.seesAllJobs) return ports.jobs.ask('page_jobs', args);
  const { principal } = reader.rights;
  const asked = textOf(args, 'principal') ?? principal;
  if (asked !== principal) return mapOf({ jobs: [], next: null });
  return ports.jobs.ask('page_jobs', new Map([...args, ['principal', principal]]));
}

/** What jobs of late came to; of a limited caller its own. */
function numbers(ports: MasterPorts, { seesAllJobs, rights }: JobReader): Promise<SaltValue> {
  const { principal } = rights;
  return ports.jobs.ask('page_numbers', mapOf(seesAllJobs ? {} : { principal }));
}

/** `{funs, jid?, id?}`: runs of all minions, for a caller that sees all jobs. */
async function pastRuns(ports: MasterPorts, reader: JobReader, args: SaltMap): Promise<SaltValue> {
  return reader.seesAllJobs ? ports.jobs.ask('page_past_runs', args) : null;
}

/** A job that a caller may see, at least in part. */
interface SeenJob {
  readonly jid: string;
  readonly row: SaltMap;
  /** The states of the minions that the caller may see; undefined: it may see all. */
  readonly part: ReadonlyMap<string, SaltValue> | undefined;
}

/** A caller that may see no minion of a job may not learn that the job is there. */
async function find(
  ports: MasterPorts,
  reader: JobReader,
  args: SaltMap,
): Promise<SeenJob | undefined> {
  const jid = textOf(args, 'jid') ?? '';
  const row = await ports.jobs.ask('page_job', mapOf({ jid }));
  if (!isMap(row)) return undefined;
  const load = mapIn(row, 'load') ?? mapOf({});
  const sight = sightOfJob(reader.rights, textOf(row, 'principal') ?? '', load);
  if (sight.kind === 'nothing') return undefined;
  if (sight.kind === 'all') return { jid, row, part: undefined };
  const part = await seenStates(ports, jid, sight.sees);
  return part.size === 0 ? undefined : { jid, row, part };
}

/** The states of those minions of a job that a caller may see. */
async function seenStates(
  ports: MasterPorts,
  jid: string,
  sees: (minion: string) => boolean,
): Promise<ReadonlyMap<string, SaltValue>> {
  const whole = await ports.jobs.ask('job', mapOf({ jid, states: true }));
  const states = isMap(whole) ? mapIn(whole, 'states') : undefined;
  const seen = new Map<string, SaltValue>();
  for (const [id, state] of states ?? []) {
    if (typeof id === 'string' && sees(id)) seen.set(id, state);
  }
  return seen;
}

const STATES = ['waiting', 'returned', 'failed', 'late', 'never'] as const;

/**
 * `{jid, at?}` → the job; in part, its counts are of the minions that the caller may see. With `at`
 * (unix ms) the counts are of that time.
 */
async function job(ports: MasterPorts, reader: JobReader, args: SaltMap): Promise<SaltValue> {
  const found = await find(ports, reader, args);
  if (found === undefined) return null;
  const { jid, row, part } = found;
  const at = args.get('at');
  if (part === undefined) {
    if (typeof at !== 'number') return row;
    const states = await statesAt(ports, jid, at);
    return new Map<SaltValue, SaltValue>([...row, ['ledger', countsOf([...states.values()])]]);
  }
  const then = typeof at === 'number' ? await statesAt(ports, jid, at) : part;
  const counted = [...then].flatMap(([id, state]) => (part.has(id) ? [state] : []));
  const load = mapIn(row, 'load') ?? mapOf({});
  return new Map<SaltValue, SaltValue>([
    ...SHOWN_IN_PART.map((name) => [name, row.get(name) ?? null] as const),
    ['load', mapOf({ fun: load.get('fun'), arg: load.get('arg') })],
    ['ledger', countsOf(counted)],
    ['isPart', true],
  ]);
}

/** Not who published it, and not what it was sent to. */
const SHOWN_IN_PART = ['jid', 'fun', 'publishedAt', 'deadlineAt'] as const;

/** The states of minions at a time (unix ms); none before the publication. */
async function statesAt(
  ports: MasterPorts,
  jid: string,
  atMs: number,
): Promise<ReadonlyMap<string, SaltValue>> {
  const then = await ports.jobs.ask('at', mapOf({ jid, atMs }));
  const states = isMap(then) ? mapIn(then, 'states') : undefined;
  return new Map([...(states ?? [])].map(([id, state]) => [pyStr(id), state]));
}

function countsOf(states: readonly SaltValue[]): SaltMap {
  const counts = new Map<SaltValue, SaltValue>([
    ...STATES.map((state) => [state, 0] as const),
    ['targeted', states.length],
    ['unexpected', 0],
  ]);
  for (const state of states) counts.set(state, Number(counts.get(state) ?? 0) + 1);
  return counts;
}

/** A question to the store about the minions of a job: about those that the caller may see. */
function within(query: string): Read {
  return async (ports, reader, args) => {
    const found = await find(ports, reader, args);
    if (found === undefined) return null;
    const { part } = found;
    if (part === undefined) return ports.jobs.ask(query, args);
    const ids = [...part.keys()];
    return ports.jobs.ask(query, new Map<SaltValue, SaltValue>([...args, ['ids', ids]]));
  };
}

/**
 * `{jid, states}` → `{fun, arg, ret?, metadata?, minions}`: what it takes to run a job once more,
 * on its minions in these states.
 */
async function again(ports: MasterPorts, reader: JobReader, args: SaltMap): Promise<SaltValue> {
  const found = await find(ports, reader, args);
  if (found === undefined) return null;
  const { jid, row, part } = found;
  const wanted = new Set(listOf(args, 'states') ?? []);
  const states = part ?? (await seenStates(ports, jid, () => true));
  const load = mapIn(row, 'load') ?? mapOf({});
  return mapOf({
    fun: load.get('fun'),
    arg: load.get('arg'),
    ret: load.get('ret'),
    metadata: metadataOf(load),
    minions: [...states].flatMap(([id, state]) => (wanted.has(state) ? [id] : [])),
  });
}

/** `{jid, id}` → `{load, receivedAt, evidence}`. */
async function oneReturn(ports: MasterPorts, reader: JobReader, args: SaltMap): Promise<SaltValue> {
  const found = await find(ports, reader, args);
  const id = textOf(args, 'id') ?? '';
  if (found === undefined || found.part?.has(id) === false) return null;
  return ports.jobs.ask('page_return', args);
}

/** `{jid, after?, limit}` → `{minions: {id: {cause, text}}, next}` of silent minions. */
async function why(ports: MasterPorts, reader: JobReader, args: SaltMap): Promise<SaltValue> {
  const found = await find(ports, reader, args);
  if (found === undefined) return null;
  const { part } = found;
  if (part === undefined) return whySilent(ports, args);
  const asked = listOf(args, 'ids');
  const isAsked = (id: SaltValue): boolean => asked === undefined || asked.includes(id);
  const ids = [...part].flatMap(([id, state]) => (SILENT.has(state) && isAsked(id) ? [id] : []));
  if (ids.length === 0) return mapOf({ minions: mapOf({}), next: null });
  return whySilent(ports, new Map<SaltValue, SaltValue>([...args, ['ids', ids]]));
}

const SILENT: ReadonlySet<SaltValue> = new Set(['waiting', 'never', 'late']);
