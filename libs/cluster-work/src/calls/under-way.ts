import type { Bus } from '@brine/bus';
import { type Answering, askPatiently, serve } from '@brine/bus/rpc';
import { MasterUnavailableError } from '@brine/master';
import type { EndedBatches, RunUnderWay } from '@brine/master/functions';
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
/** A page of ended batches: of those, and of bytes, far below what a message may have. */
const PAGE_MAX = 500;
const PAGE_BYTES = 512 * 1024;

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
  return { ...batchOf(jid, kept, data), isBegun };
}

/** What a process that runs functions knows of runs. */
export interface KnownRuns {
  underWay(): Promise<readonly RunUnderWay[]>;
  /** Batches that have ended, newest first. */
  endedBatches(): Promise<readonly RunUnderWay[]>;
}

/** Answers which runs have not ended, and which batches have, in a process that runs functions. */
export function serveUnderWay(bus: Bus, runs: KnownRuns): Answering {
  return serve(bus, RUNS, async (question) => {
    if (!isMap(question) || question.get('ended') !== true) {
      return (await runs.underWay()).map(written);
    }
    return pageOf(await runs.endedBatches(), question);
  });
}

/** A batch that has ended, as its last record has it; undefined for another run. */
export function endedBatchOf({ jid, kind, ended, data, call: kept }: FoundRun) {
  if (!ended || kind !== BATCH) return undefined;
  return batchOf(jid, kept, data);
}

function batchOf(jid: string, kept: SaltMap, data: SaltMap): RunUnderWay {
  const [fun, user] = [textOf(data, 'fun') ?? '', textOf(data, 'user') ?? ''];
  const principal = textOf(kept, 'principal') ?? '';
  const none = { args: [], kwargs: mapOf({}) };
  return { call: { kind: BATCH, fun, jid, user, principal, ...none }, isBegun: true, data };
}

/** `{before?, limit}` → `{rows, next}`; a page is short where its rows are large. */
function pageOf(all: readonly RunUnderWay[], question: SaltMap): SaltMap {
  const before = textOf(question, 'before');
  const wanted = all.filter(({ call }) => before === undefined || call.jid < before);
  const limit = Math.max(1, Math.min(Number(question.get('limit') ?? 1), PAGE_MAX));
  const rows: SaltValue[] = [];
  let bytes = 0;
  for (const one of wanted.slice(0, limit)) {
    const row = written(one);
    bytes += pack(row).length;
    if (bytes > PAGE_BYTES && rows.length > 0) break;
    rows.push(row);
  }
  const next = rows.length < wanted.length ? wanted[rows.length - 1]?.call.jid : undefined;
  return mapOf({ rows, next });
}

/** A page of batches that have ended. @throws MasterUnavailableError if no process answers */
export async function askEndedBatches(
  bus: Bus,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<EndedBatches> {
  const answer = await asked(bus, mapOf({ ended: true, before, limit }));
  // A process of an earlier release answers a list of the runs that have not ended.
  if (!isMap(answer)) return { batches: [], next: undefined };
  const rows = (listOf(answer, 'rows') ?? []).filter(isMap);
  return { batches: rows.map(read), next: textOf(answer, 'next') };
}

async function asked(bus: Bus, question: SaltMap): Promise<SaltValue> {
  try {
    return await askPatiently(bus, RUNS, question, PATIENCE);
  } catch (cause) {
    throw new MasterUnavailableError('no process runs functions just now', { cause });
  }
}

/** The runs that have not ended. @throws MasterUnavailableError if no process answers */
export async function askUnderWay(bus: Bus): Promise<readonly RunUnderWay[]> {
  const answer = await asked(bus, mapOf({}));
  return Array.isArray(answer) ? answer.filter(isMap).map(read) : [];
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
