import { type MinionPart, partJudge, type Reader, runJudge } from '@brine/acl';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import type { MasterPorts } from '../ports/ports.ts';
import type { Read } from './job-reads.ts';
import { type JobReader, sightOfJob } from './job-sight.ts';
import { isMinionSeen, ReadNotAllowedError } from './minion-sight.ts';

/** What is known of a part of a minion. */
interface Known {
  readonly data: SaltValue;
  /** Unix ms. */
  readonly at: number;
  /** The job that it answered. */
  readonly jid?: string;
}

interface Part {
  /** The part that its reader may read, or the function that it may run there. */
  readonly right: Exclude<MinionPart, 'minion'> | { readonly fun: string };
  readonly find: (ports: MasterPorts, id: string) => Promise<Known | undefined>;
}

/** The parts of a minion: who may read them, and where they are. */
const PARTS: ReadonlyMap<string, Part> = new Map<string, Part>([
  ['pillar', { right: 'pillar', find: async ({ pillars }, id) => stored(pillars?.kept(id)) }],
  ['mine', { right: 'mine', find: ({ mines }, id) => stored(mines.kept(id)) }],
  ['schedule', answered('schedule.list')],
  ['beacons', answered('beacons.list')],
]);

async function stored(
  keeping: Promise<{ readonly data: SaltMap; readonly atMs: number } | undefined> | undefined,
): Promise<Known | undefined> {
  const kept = await keeping;
  return kept && { data: kept.data, at: kept.atMs };
}

/** A part that only the minion has: what it gave when it was asked last. */
function answered(fun: string): Part {
  return {
    right: { fun },
    find: async ({ jobs }, id) => {
      const found = await jobs.ask('page_newest_return', mapOf({ id, fun }));
      if (!isMap(found)) return undefined;
      const data = mapIn(found, 'load')?.get('return') ?? null;
      return { data, at: Number(found.get('receivedAt')), jid: textOf(found, 'jid') ?? '' };
    },
  };
}

function mayRead(reader: Reader, right: Part['right'], id: string): boolean {
  const judge = typeof right === 'string' ? partJudge(reader, right) : runJudge(reader, right.fun);
  return judge(id);
}

/** Stands for each value that is not revealed, whatever it is. */
const MASK = '********';

/**
 * `{id, part, path?, reveal?}` → `{data, at, jid, isMasked}`, nulls where nothing is known; null
 * for a path that leads nowhere. Values of a pillar are masked unless `reveal` is true, which is on
 * record (audit-records.ts).
 * @throws ReadNotAllowedError
 */
async function minionPart(
  ports: MasterPorts,
  { rights }: JobReader,
  args: SaltMap,
): Promise<SaltValue> {
  const id = textOf(args, 'id') ?? '';
  const name = textOf(args, 'part') ?? '';
  const part = PARTS.get(name);
  if (part === undefined || !isMinionSeen(ports, rights, id)) return null;
  if (!mayRead(rights, part.right, id)) throw new ReadNotAllowedError();
  const isMasked = name === 'pillar' && args.get('reveal') !== true;
  const known = await part.find(ports, id);
  const path = textOf(args, 'path');
  if (known === undefined) {
    return path === undefined ? mapOf({ data: null, at: null, jid: null, isMasked }) : null;
  }
  const { data: whole, at, jid = null } = known;
  const data = path === undefined ? whole : valueAt(whole, path);
  if (data === undefined) return null;
  return mapOf({ data: isMasked ? masked(data) : data, at, jid, isMasked });
}

/** The value at a path such as `a:b:0`; undefined where it leads nowhere. */
function valueAt(whole: SaltValue, path: string): SaltValue | undefined {
  let value: SaltValue | undefined = whole;
  for (const step of path.split(':')) {
    if (isMap(value)) value = value.get(step);
    else if (Array.isArray(value) && /^\d{1,9}$/.test(step)) value = value[Number(step)];
    else return undefined;
  }
  return value;
}

/** The same keys and the same shape, without a value. */
function masked(value: SaltValue): SaltValue {
  if (isMap(value)) return new Map([...value].map(([key, one]) => [key, masked(one)]));
  return Array.isArray(value) ? value.map(masked) : MASK;
}

/**
 * `{id, before?, fun?, state?, limit?}` → `{jobs, next}`: what a minion did in each job, newest
 * first. A limited caller sees its own jobs, and those of others whose return it may read.
 */
async function minionJobs(
  ports: MasterPorts,
  reader: JobReader,
  args: SaltMap,
): Promise<SaltValue> {
  const id = textOf(args, 'id') ?? '';
  if (!isMinionSeen(ports, reader.rights, id)) return null;
  if (reader.seesAllJobs) return ports.jobs.ask('page_minion_jobs', args);
  const page = await ports.jobs.ask('page_minion_jobs', new Map([...args, ['judged', true]]));
  if (!isMap(page)) return null;
  const jobs = (listOf(page, 'jobs') ?? []).filter(
    (line) => isMap(line) && sees(reader.rights, line, id),
  );
  return mapOf({ jobs, next: page.get('next') ?? null });
}

function sees(reader: Reader, line: SaltMap, id: string): boolean {
  const sight = sightOfJob(
    reader,
    textOf(line, 'principal') ?? '',
    mapIn(line, 'load') ?? mapOf({}),
  );
  return sight.kind === 'all' || (sight.kind === 'some' && sight.sees(id));
}

/** Reads of one minion, by name. */
export const MINION_READS: readonly (readonly [string, Read])[] = [
  ['minion_part', minionPart],
  ['minion_jobs', minionJobs],
];
