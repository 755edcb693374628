import type { Bus } from '@brine/bus';
import { type Answering, ask, askPatiently, serve } from '@brine/bus/rpc';
import { type FunctionCall, type FunctionOutcome, MasterUnavailableError } from '@brine/master';
import {
  type Admission,
  type BatchOrder,
  type EndedBatches,
  type KnownBatch,
  type MasterFunctions,
  RunIsKnownError,
  type RunUnderWay,
} from '@brine/master/functions';
import { isMap, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import type { RunOffers } from '../ownership/run-offers.ts';
import { CALL } from '../ownership/run-record.ts';
import { keepCall } from './call-record.ts';
import { askFunctions } from './known-functions.ts';
import { askEndedBatches, askUnderWay, underWayOf } from './under-way.ts';

export interface HandedCallsParts {
  readonly bus: Bus;
  readonly runs: RunOffers;
  /** Id of this process, to which outcomes are reported. */
  readonly processId: string;
  /** Throws for invalid settings of a batch. */
  readonly checkBatch: (settings: SaltMap) => void;
  readonly count: (outcome: string) => void;
}

/** Asks whether a call may begin. */
const ADMITS = 'functions.admits';
const ADMIT = { tryMs: 2_000, waitMs: 10_000, retryMs: 250 };
/** Subject prefix of outcomes; the id of the waiting process follows. */
const OUTCOMES = 'functions.done';
const REPORT_TIMEOUT_MS = 5_000;
/** No client waits longer for the answer to a request. */
const OUTCOME_WAIT_MS = 15 * 60_000;
const BATCH = 'batch';

/** Key of a stored call that names the process which waits for the outcome. */
const REPORT_TO = 'reportTo';

/**
 * Hands authorized calls to the processes that run functions. A call is a record in the bucket
 * `brine_runs` without an owner, so it outlives this process and the one that takes it.
 */
export class HandedCalls implements MasterFunctions {
  readonly #parts: HandedCallsParts;
  readonly #waiting = new Map<string, (outcome: FunctionOutcome) => void>();
  readonly #outcomes: Answering;

  constructor(parts: HandedCallsParts) {
    this.#parts = parts;
    this.#outcomes = serve(parts.bus, `${OUTCOMES}.${parts.processId}`, (report) => {
      const outcome = readOutcome(report);
      if (outcome !== undefined) this.#waiting.get(outcome.jid)?.(outcome.outcome);
      return null;
    });
  }

  async admits(kind: FunctionCall['kind'], fun: string): Promise<Admission> {
    try {
      const answer = await askPatiently(this.#parts.bus, ADMITS, mapOf({ kind, fun }), ADMIT);
      return answer === 'full' || answer === 'unknown' ? answer : 'yes';
    } catch (cause) {
      throw new MasterUnavailableError('no process runs functions just now', { cause });
    }
  }

  async begin(call: FunctionCall): Promise<void> {
    const { call: kept, input } = keepCall(call);
    await this.#offer(CALL, call.jid, { call: kept, input });
  }

  async call(call: FunctionCall): Promise<FunctionOutcome> {
    const { jid } = call;
    const { call: kept, input } = keepCall(call);
    let timer: NodeJS.Timeout | undefined;
    const outcome = new Promise<FunctionOutcome>((resolve) => {
      this.#waiting.set(jid, resolve);
      timer = setTimeout(() => resolve(tooLate(call)), OUTCOME_WAIT_MS);
    });
    try {
      await this.#offer(CALL, jid, { call: kept.set(REPORT_TO, this.#parts.processId), input });
      return await outcome;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(jid);
    }
  }

  async beginBatch(order: BatchOrder): Promise<void> {
    const { jid, caller, principal, command, load, settings, host, origin } = order;
    this.#parts.checkBatch(settings);
    const call = mapOf({ caller, principal, command, host, origin });
    await this.#offer(BATCH, jid, { call, input: mapOf({ load, settings }) });
    this.#parts.count('batch_begun');
  }

  async batch(jid: string): Promise<KnownBatch | undefined> {
    const found = await this.#parts.runs.find(jid);
    if (found?.kind !== BATCH) return undefined;
    const state: SaltMap = new Map(found.data);
    state.set('ended', found.ended);
    const of = (name: string): string => textOf(found.call, name) ?? '';
    return { principal: of('principal'), command: of('command'), state };
  }

  underWay(): Promise<readonly RunUnderWay[]> {
    return askUnderWay(this.#parts.bus);
  }

  endedBatches(asked: Parameters<MasterFunctions['endedBatches']>[0]): Promise<EndedBatches> {
    return askEndedBatches(this.#parts.bus, asked);
  }

  async run(jid: string): Promise<RunUnderWay | undefined> {
    const found = await this.#parts.runs.find(jid);
    return found === undefined || found.kind === BATCH ? undefined : underWayOf(found);
  }

  known(question: SaltMap): Promise<SaltMap> {
    return askFunctions(this.#parts.bus, question);
  }

  /** Waits for no more outcomes. */
  async close(): Promise<void> {
    await this.#outcomes.close();
  }

  async #offer(
    kind: string,
    jid: string,
    given: { readonly call: SaltMap; readonly input?: SaltMap | undefined },
  ): Promise<void> {
    const isNew = await this.#parts.runs.offer(kind, jid, { data: mapOf({}), ...given });
    if (!isNew) throw new RunIsKnownError(`a run with the job id ${jid} is there already`);
  }
}

/** Answers whether calls may begin, in a process that runs functions. */
export function serveAdmissions(
  bus: Bus,
  admits: (kind: FunctionCall['kind'], fun: string) => Promise<Admission>,
): Answering {
  return serve(bus, ADMITS, async (question) => {
    const fun = isMap(question) ? textOf(question, 'fun') : undefined;
    if (!isMap(question) || fun === undefined) throw new Error('a question without a function');
    return admits(question.get('kind') === 'wheel' ? 'wheel' : 'runner', fun);
  });
}

/** Reports an outcome to the process that waits for it, if that process still lives. */
export async function reportOutcome(
  bus: Bus,
  kept: SaltMap,
  jid: string,
  { value, success, retcode }: FunctionOutcome,
): Promise<void> {
  const to = textOf(kept, REPORT_TO);
  if (to === undefined) return;
  const report = mapOf({ jid, value, success, retcode });
  await ask(bus, `${OUTCOMES}.${to}`, report, REPORT_TIMEOUT_MS);
}

function readOutcome(
  report: SaltValue,
): { readonly jid: string; readonly outcome: FunctionOutcome } | undefined {
  const jid = isMap(report) ? textOf(report, 'jid') : undefined;
  if (!isMap(report) || jid === undefined) return undefined;
  const retcode = report.get('retcode');
  const outcome = { value: report.get('value') ?? null, success: report.get('success') === true };
  return { jid, outcome: typeof retcode === 'number' ? { ...outcome, retcode } : outcome };
}

function tooLate({ fun }: FunctionCall): FunctionOutcome {
  const minutes = OUTCOME_WAIT_MS / 60_000;
  const value = `${fun} did not end within ${minutes} minutes; its event \`ret\` has the result`;
  return { value, success: false, retcode: 1 };
}
