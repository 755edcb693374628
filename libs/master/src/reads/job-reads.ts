import { isMap, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { whySilent } from '../clear/why-silent.ts';
import type { MasterPorts } from '../ports/ports.ts';
import { type JobReader, type JobSight, sightOfJob } from './job-sight.ts';

/** Reads something for a caller; null: there is no such thing, or none that it may see. */
export type Read = (ports: MasterPorts, reader: JobReader, args: SaltMap) => Promise<SaltValue>;

/** Reads of jobs, by name. */
export const JOB_READS: readonly (readonly [string, Read])[] = [
  ['jobs', jobs],
  ['job', job],
  ['job_minions', minions],
  ['job_return', oneReturn],
  ['job_groups', groups],
  ['job_why', why],
];

/** Jobs with their counts; of a limited caller its own. */
async function jobs(ports: MasterPorts, reader: JobReader, args: SaltMap): Promise<SaltValue> {
  if (reader.seesAllJobs) return ports.jobs.ask('page_jobs', args);
  const { principal } = reader.rights;
  const asked = textOf(args, 'principal') ?? principal;
  if (asked !== principal) return mapOf({ jobs: [], next: null });
  return ports.jobs.ask('page_jobs', new Map([...args, ['principal', principal]]));
}

/** A job that a caller may see, at least in part. */
interface SeenJob {
  readonly jid: string;
  readonly row: SaltMap;
  readonly sight: Exclude<JobSight, { readonly kind: 'nothing' }>;
}

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
  return sight.kind === 'nothing' ? undefined : { jid, row, sight };
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

/** `{jid}` → the job; in part, its counts are of the minions that the caller may see. */
async function job(ports: MasterPorts, reader: JobReader, args: SaltMap): Promise<SaltValue> {
  const found = await find(ports, reader, args);
  if (found === undefined) return null;
  const { row, sight } = found;
  if (sight.kind === 'all') return row;
  const states = await seenStates(ports, found.jid, sight.sees);
  if (states.size === 0) return null;
  const counts = new Map<SaltValue, SaltValue>([
    ...STATES.map((state) => [state, 0] as const),
    ['targeted', states.size],
    ['unexpected', 0],
  ]);
  for (const state of states.values()) counts.set(state, Number(counts.get(state) ?? 0) + 1);
  const load = mapIn(row, 'load') ?? mapOf({});
  const kept = mapOf({ fun: load.get('fun'), arg: load.get('arg') });
  return new Map<SaltValue, SaltValue>([
    ...['jid', 'fun', 'publishedAt', 'deadlineAt'].map(
      (name) => [name, row.get(name) ?? null] as const,
    ),
    ['load', kept],
    ['ledger', counts],
    ['isPart', true],
  ]);
}

/** `{jid, state?, part?, after?, limit}` → `{minions, next}`. */
async function minions(ports: MasterPorts, reader: JobReader, args: SaltMap): Promise<SaltValue> {
  const found = await find(ports, reader, args);
  if (found === undefined) return null;
  const { jid, sight } = found;
  if (sight.kind === 'all') return ports.jobs.ask('page_minions', args);
  return ports.jobs.ask('page_minions', await within(ports, jid, sight.sees, args));
}

/** Arguments for a page of those minions of a job alone that a caller may see. */
async function within(
  ports: MasterPorts,
  jid: string,
  sees: (minion: string) => boolean,
  args: SaltMap,
): Promise<SaltMap> {
  const ids = [...(await seenStates(ports, jid, sees)).keys()];
  return new Map<SaltValue, SaltValue>([...args, ['ids', ids]]);
}

/** `{jid, id}` → `{load, receivedAt, evidence}`. */
async function oneReturn(ports: MasterPorts, reader: JobReader, args: SaltMap): Promise<SaltValue> {
  const found = await find(ports, reader, args);
  const id = textOf(args, 'id') ?? '';
  if (found === undefined || !seesMinion(found, id)) return null;
  return ports.jobs.ask('page_return', args);
}

/** `{jid, limit}` → `{groups, more}`. */
async function groups(ports: MasterPorts, reader: JobReader, args: SaltMap): Promise<SaltValue> {
  const found = await find(ports, reader, args);
  if (found === undefined) return null;
  const { jid, sight } = found;
  if (sight.kind === 'all') return ports.jobs.ask('page_groups', args);
  return ports.jobs.ask('page_groups', await within(ports, jid, sight.sees, args));
}

/** `{jid, after?, limit}` → `{minions: {id: {cause, text}}, next}` of silent minions. */
async function why(ports: MasterPorts, reader: JobReader, args: SaltMap): Promise<SaltValue> {
  const found = await find(ports, reader, args);
  if (found === undefined) return null;
  const { jid, sight } = found;
  if (sight.kind === 'all') return whySilent(ports, args);
  const states = await seenStates(ports, jid, sight.sees);
  const ids = [...states].flatMap(([id, state]) => (SILENT.has(state) ? [id] : []));
  if (ids.length === 0) return mapOf({ minions: mapOf({}), next: null });
  return whySilent(ports, new Map<SaltValue, SaltValue>([...args, ['ids', ids]]));
}

const SILENT: ReadonlySet<SaltValue> = new Set(['waiting', 'never', 'late']);

function seesMinion({ sight }: SeenJob, id: string): boolean {
  return sight.kind === 'all' || sight.sees(id);
}
