import { mayRead } from '@brine/acl';
import { isJid, jidTimeMs } from '@brine/job';
import { matchGlob } from '@brine/target';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { hasSecretArguments } from '@brine/wire/load';
import { pyStr } from '@brine/wire/text';
import type { MasterPorts, RunUnderWay } from '../ports/ports.ts';
import type { Read } from './job-reads.ts';
import type { JobReader } from './job-sight.ts';

/** Reads of runs and batches, by name. */
export const RUN_READS: readonly (readonly [string, Read])[] = [
  ['runs', runs],
  ['run', run],
  ['batches', batches],
  ['batch', batch],
];

const KINDS = ['runner', 'wheel'] as const;

type Call = Pick<RunUnderWay['call'], 'fun' | 'jid' | 'user' | 'principal' | 'args' | 'kwargs'> & {
  readonly kind: (typeof KINDS)[number];
};

/** True if a reader began a run, or may call its function itself. */
function sees({ rights }: JobReader, { kind, principal, fun, args, kwargs }: Call): boolean {
  return mayRead(rights, { kind: 'run', principal, of: kind, fun, args, kwargs });
}

const LIMIT = 50;

/**
 * `{limit, before?, client?, fun?, user?, from?, to?}` → `{runs, next}`, newest first: runs that
 * have not ended, and ended ones that are on record. A page may be short or empty; its `next`
 * continues. A run whose function the reader may call with some arguments alone is left out, unless
 * it began it.
 */
async function runs(ports: MasterPorts, reader: JobReader, args: SaltMap): Promise<SaltValue> {
  const [limit, client] = [Number(args.get('limit') ?? LIMIT), textOf(args, 'client')];
  const kinds = KINDS.filter((kind) => client === undefined || kind === client);
  const fun = textOf(args, 'fun') ?? '*';
  const asked = new Map<SaltValue, SaltValue>([
    ...args,
    ['fun', kinds.map((kind) => `${kind}.${fun}`)],
    ['hidden', true],
  ]);
  const [page, current] = await Promise.all([
    ports.jobs.ask('page_jobs', asked),
    ports.functions.underWay(),
  ]);
  if (!isMap(page)) return mapOf({ runs: [], next: null });
  const ended = (listOf(page, 'jobs') ?? []).filter(isMap).flatMap((row) => {
    const call = endedCall(ports, row);
    return call !== undefined && sees(reader, call) ? [shown(call, row, 'ended')] : [];
  });
  const next = textOf(page, 'next') ?? '';
  const fits = conditionsOf(args, kinds);
  const [before, known] = [textOf(args, 'before'), new Set(ended.map(jidOf))];
  const open = current.flatMap(({ call, isBegun }) => {
    const isOfPage = call.jid > next && (before === undefined || call.jid < before);
    if (!isRun(call) || !isOfPage || known.has(call.jid) || !fits(call)) return [];
    return sees(reader, call) ? [shown(call, undefined, isBegun ? 'running' : 'waiting')] : [];
  });
  const all = [...ended, ...open].sort((a, b) => (jidOf(a) > jidOf(b) ? -1 : 1));
  if (all.length <= limit) return mapOf({ runs: all, next: next === '' ? null : next });
  const cut = all.slice(0, limit);
  return mapOf({ runs: cut, next: jidOf(cut.at(-1) ?? mapOf({})) });
}

/** Judges runs that have not ended by the conditions that the record knows for the others. */
function conditionsOf(args: SaltMap, kinds: readonly Call['kind'][]): (call: Call) => boolean {
  const [user, fun] = [textOf(args, 'user'), textOf(args, 'fun') ?? '*'];
  const [from, to] = [args.get('from') ?? -Infinity, args.get('to') ?? Infinity];
  return (call) => {
    const ms = isJid(call.jid) ? jidTimeMs(call.jid) : 0;
    const isOfTime = ms >= Number(from) && ms < Number(to);
    const isOfUser = user === undefined || call.user === user;
    return kinds.includes(call.kind) && isOfTime && isOfUser && matchGlob(fun, call.fun);
  };
}

function isRun(call: RunUnderWay['call']): call is Call {
  return call.kind !== 'batch';
}

function jidOf(row: SaltMap): string {
  return textOf(row, 'jid') ?? '';
}

/**
 * The call of a run on record; undefined for a job. A minion that begins a job itself chooses all
 * of it but the id under which it returns: a run is returned by a master, which has no key of a
 * minion.
 */
function endedCall({ keys }: MasterPorts, row: SaltMap, load?: SaltMap): Call | undefined {
  const [name] = listOf(row, 'fun') ?? [];
  const [, kind, fun = ''] = /^(runner|wheel)\.(.+)$/.exec(pyStr(name ?? '')) ?? [];
  const of = KINDS.find((one) => one === kind);
  const master = textOf(row, 'principal') ?? '';
  const isOfMaster = master.endsWith(MASTER) && keys.cached(master)?.state === undefined;
  if (of === undefined || textOf(row, 'origin') !== 'return' || !isOfMaster) return undefined;
  const given = (load && listOf(load, 'fun_args')) ?? [];
  const last = given.at(-1) ?? null;
  const user = textOf(row, 'user') ?? '';
  return {
    kind: of,
    fun,
    jid: jidOf(row),
    user,
    // As in its events.
    principal: user,
    args: isMap(last) ? given.slice(0, -1) : given,
    kwargs: isMap(last) ? last : mapOf({}),
  };
}

/** How the ids of masters end (salt/config apply_master_config). */
const MASTER = '_master';

function shown(
  { kind, fun, jid, user }: Call,
  row: SaltMap | undefined,
  state: 'waiting' | 'running' | 'ended',
): SaltMap {
  const ledger = row && mapIn(row, 'ledger');
  const success = ledger && ledger.get('failed') === 0 && ledger.get('late') === 0;
  return mapOf({ client: kind, fun, jid, user, state, success });
}

/** `{jid}` → one run with its arguments; an ended one with its event, a running one with steps. */
async function run(ports: MasterPorts, reader: JobReader, args: SaltMap): Promise<SaltValue> {
  const jid = jidOf(args);
  if (!isJid(jid)) return null;
  const current = await ports.functions.run(jid);
  if (current !== undefined) {
    const { call, isBegun, data } = current;
    if (!isRun(call) || !sees(reader, call)) return null;
    const state = isBegun ? 'running' : 'waiting';
    const steps = { steps: mapIn(data, 'steps'), begun: mapIn(data, 'begun') };
    return new Map([...shown(call, undefined, state), ...argumentsOf(call), ...mapOf(steps)]);
  }
  const row = await ports.jobs.ask('page_job', mapOf({ jid }));
  if (!isMap(row)) return null;
  const call = endedCall(ports, row, mapIn(row, 'load') ?? mapOf({}));
  if (call === undefined || !sees(reader, call)) return null;
  const id = textOf(row, 'principal') ?? '';
  const returned = await ports.jobs.ask('page_return', mapOf({ jid, id }));
  const load = isMap(returned) ? mapIn(returned, 'load') : undefined;
  const end = isMap(returned) ? returned.get('receivedAt') : undefined;
  const event = load && mapIn(load, 'return');
  return new Map([
    ...shown(call, row, 'ended'),
    ...argumentsOf(call),
    ...mapOf({ event, ended: typeof end === 'number' ? end : undefined }),
  ]);
}

function argumentsOf({ kind, fun, args, kwargs }: Call): SaltMap {
  if (hasSecretArguments(`${kind}.${fun}`)) return mapOf({ args: [], kwargs: mapOf({}) });
  return mapOf({ args: [...args], kwargs });
}

/** True if a reader began a batch, or may ask for it by a runner. */
function seesBatch(
  { rights }: JobReader,
  principal: string,
  fun: string,
  args: readonly SaltValue[],
): boolean {
  return mayRead(rights, { kind: 'run', principal, of: 'runner', fun, args, kwargs: mapOf({}) });
}

/**
 * `{limit?, before?, state?: 'open' | 'ended'}` → `{batches, next}`, newest first. A page may be
 * short or empty; its `next` continues.
 */
async function batches(ports: MasterPorts, reader: JobReader, args: SaltMap): Promise<SaltValue> {
  const [limit, state] = [Number(args.get('limit') ?? LIMIT), textOf(args, 'state')];
  const before = textOf(args, 'before');
  const none = { batches: [], next: undefined };
  const [current, page] = await Promise.all([
    state === 'ended' ? [] : ports.functions.underWay(),
    state === 'open' ? none : ports.functions.endedBatches({ before, limit }),
  ]);
  const ended = page.batches
    .filter(({ call }) => seesBatch(reader, call.principal, 'batch.status', [call.jid]))
    .map((one) => batchShown(one, true));
  const known = new Set(page.batches.map(({ call }) => call.jid));
  const next = page.next ?? '';
  const open = current
    .filter(({ call }) => call.kind === 'batch' && !known.has(call.jid))
    .filter(({ call: { jid } }) => jid > next && (before === undefined || jid < before))
    .filter(({ call }) => seesBatch(reader, call.principal, 'batch.list_active', []))
    .map((one) => batchShown(one, false));
  const all = [...ended, ...open].sort((a, b) => (jidOf(a) > jidOf(b) ? -1 : 1));
  if (all.length <= limit) return mapOf({ batches: all, next: page.next });
  const cut = all.slice(0, limit);
  return mapOf({ batches: cut, next: jidOf(cut.at(-1) ?? mapOf({})) });
}

function batchShown({ call, data }: RunUnderWay, ended: boolean): SaltMap {
  return new Map<SaltValue, SaltValue>([...data, ['jid', call.jid], ['ended', ended]]);
}

/** `{jid}` → a batch, current or ended; its minions for who sees its job as a whole. */
async function batch(ports: MasterPorts, reader: JobReader, args: SaltMap): Promise<SaltValue> {
  const jid = jidOf(args);
  const found = isJid(jid) ? await ports.functions.batch(jid) : undefined;
  if (found === undefined) return null;
  const { principal, state } = found;
  if (!seesBatch(reader, principal, 'batch.status', [jid])) return null;
  const isSeen = mayRead(reader.rights, { kind: 'job', principal });
  return new Map([...state, ['jid', jid], ['plan', isSeen ? (state.get('plan') ?? null) : null]]);
}
