import { setTimeout as sleep } from 'node:timers/promises';
import { BusError } from '@brine/bus';
import { isAway } from '@brine/client';
import {
  type FunctionCall,
  type FunctionOutcome,
  type MasterPorts,
  MasterUnavailableError,
} from '@brine/master';
import { announce, fireOutcome } from '@brine/master/functions';
import type { OwnedRuns } from '@brine/runners';
import type { Trouble } from '@brine/tasks';
import { isMap, mapIn, mapOf } from '@brine/wire';

export interface RunOnceParts {
  readonly ports: MasterPorts;
  /** Long work for the functions of a call. */
  readonly runsOf: (call: FunctionCall) => OwnedRuns;
  /** Runs the function, without its events. */
  readonly run: (call: FunctionCall) => Promise<FunctionOutcome>;
  readonly onTrouble: Trouble;
}

/** Poll interval for the run of another process, and between two tries, ms. */
const LOOK_MS = 1_000;
/** Number of tries while a part of the cluster is unreachable. */
const TRIES = 60;

/**
 * Runs a function between its events `new` and `ret`. Returns undefined if the run is repeated
 * (`again`) and its previous process has finished it. Never rejects once the function has run,
 * because the caller would run it again.
 * @throws if a part of the cluster is unreachable before the function has run
 */
export async function runOnce(
  call: FunctionCall,
  again: boolean,
  parts: RunOnceParts,
): Promise<FunctionOutcome | undefined> {
  if (again && (await hasRun(call, parts))) return undefined;
  const { ports, onTrouble, run } = parts;
  await announce(ports, call);
  const outcome = await run(call);
  // Another process continues the run and reports its result.
  if (outcome.moved === true) return outcome;
  const what = `the result of ${call.fun} (${call.jid})`;
  await untilStored(what, () => fireOutcome(ports, call, outcome), onTrouble);
  return outcome;
}

/**
 * Reports the outcome of finished work, and retries while a part of the cluster is unreachable.
 * Never rejects; the log names what is lost.
 */
export async function untilStored(
  what: string,
  report: () => Promise<unknown>,
  onTrouble: RunOnceParts['onTrouble'],
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await report();
      return;
    } catch (error) {
      if (tries >= TRIES || !isOutage(error)) return onTrouble(`${what} is lost`, error);
      await sleep(LOOK_MS);
    }
  }
}

/**
 * True if a previous process finished the run. Waits for a run that continues elsewhere, as
 * orchestrations do.
 */
async function hasRun(call: FunctionCall, { ports, runsOf }: RunOnceParts): Promise<boolean> {
  const runs = runsOf(call);
  let wentOn = false;
  for (;;) {
    const run = await runs.find(call.jid);
    if (run === undefined || run.ended) break;
    wentOn = true;
    await sleep(LOOK_MS);
  }
  if (wentOn) return true;
  const page = await ports.jobs.ask('get_jid', mapOf({ jid: call.jid }));
  const returns = isMap(page) ? mapIn(page, 'returns') : undefined;
  return returns?.has(ports.rules.masterMinionId) === true;
}

/** True if the same call may succeed later. */
export function isOutage(error: unknown): boolean {
  if (error instanceof BusError) return error.retryable;
  return error instanceof MasterUnavailableError || isAway(error);
}
