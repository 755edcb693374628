import type { Bus } from '@brine/bus';
import { type Answering, askPatiently, serve } from '@brine/bus/rpc';
import { MasterUnavailableError } from '@brine/master';
import type { RunUnderWay } from '@brine/master/functions';
import {
  boolOf,
  isMap,
  listOf,
  mapIn,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  textOf,
} from '@brine/wire';
import type { FoundRun } from '../ownership/run-offers.ts';
import { CALL } from '../ownership/run-record.ts';
import { keptCallOf } from './call-record.ts';

/** Asks for the runs that have not ended; a process that runs functions watches them. */
const RUNS = 'functions.runs';
const PATIENCE = { tryMs: 2_000, waitMs: 5_000, retryMs: 250 };
/** Arguments above this are left out of the answer, which has up to 1,256 runs, bytes. */
const ARGUMENTS_MAX_BYTES = 2_048;
const BATCH = 'batch';

/** A run as its record has it; undefined for an ended one, and for what is no call and no batch. */
export function underWayOf(
  { jid, kind, owner, ended, data, call: kept }: FoundRun,
  input?: SaltMap,
): RunUnderWay | undefined {
  if (ended) return undefined;
  const isBegun = kind !== CALL && owner !== '';
  if (kind !== BATCH) {
    const call = keptCallOf(kept, jid, input);
    return call && { call, isBegun, data };
  }
  const [fun, user] = [textOf(data, 'fun') ?? '', textOf(data, 'user') ?? ''];
  const principal = textOf(kept, 'principal') ?? '';
  const none = { args: [], kwargs: mapOf({}) };
  return { call: { kind, fun, jid, user, principal, ...none }, isBegun, data };
}

/** Answers which runs have not ended, in a process that runs functions. */
export function serveUnderWay(bus: Bus, list: () => Promise<readonly RunUnderWay[]>): Answering {
  return serve(bus, RUNS, async () => (await list()).map(written));
}

/** The runs that have not ended. @throws MasterUnavailableError if no process answers */
export async function askUnderWay(bus: Bus): Promise<readonly RunUnderWay[]> {
  try {
    const answer = await askPatiently(bus, RUNS, mapOf({}), PATIENCE);
    return Array.isArray(answer) ? answer.filter(isMap).map(read) : [];
  } catch (cause) {
    throw new MasterUnavailableError('no process runs functions just now', { cause });
  }
}

/** A batch has its state without its plan, a run has no data: these may be large. */
function written({ call, isBegun, data }: RunUnderWay): SaltValue {
  const { kind, fun, jid, user, principal } = call;
  const given = mapOf({ args: [...call.args], kwargs: call.kwargs });
  const isShort = pack(given).length <= ARGUMENTS_MAX_BYTES;
  const state = new Map([...data].filter(([name]) => name !== 'plan' && name !== 'at'));
  return mapOf({
    kind,
    fun,
    jid,
    user,
    principal,
    isBegun,
    ...(isShort ? { given } : {}),
    ...(kind === BATCH ? { state } : {}),
  });
}

function read(row: SaltMap): RunUnderWay {
  const text = (name: string): string => textOf(row, name) ?? '';
  const given = mapIn(row, 'given') ?? mapOf({});
  const kind = KINDS.find((one) => one === row.get('kind')) ?? 'runner';
  const call = {
    kind,
    fun: text('fun'),
    jid: text('jid'),
    user: text('user'),
    principal: text('principal'),
    args: listOf(given, 'args') ?? [],
    kwargs: mapIn(given, 'kwargs') ?? mapOf({}),
  };
  const isBegun = boolOf(row, 'isBegun') === true;
  return { call, isBegun, data: mapIn(row, 'state') ?? mapOf({}) };
}

const KINDS = ['runner', 'wheel', BATCH] as const;
