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

/** What a run of the master's own works with. */
export interface RunOnceParts {
  readonly ports: MasterPorts;
  /** Long work for the functions of a call. */
  readonly runsOf: (call: FunctionCall) => OwnedRuns;
  /** Runs the function, without its events. */
  readonly run: (call: FunctionCall) => Promise<FunctionOutcome>;
  readonly onTrouble: Trouble;
}

/** Between two looks whether a run of another process has ended, and between two tries, ms. */
const LOOK_MS = 1_000;
/** How often something is tried again while a part of the cluster is away. */
const TRIES = 60;

/**
 * Runs a function between its events `new` and `ret`. Undefined where it runs `again`, and the
 * process before this one came to its end. Once the function has run it does not reject: the caller
 * would have it done again.
 * @throws where a part of the cluster is away before the function has run
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
  // Another process continues it, and reports.
  if (outcome.moved === true) return outcome;
  const what = `the result of ${call.fun} (${call.jid})`;
  await untilStored(what, () => fireOutcome(ports, call, outcome), onTrouble);
  return outcome;
}

/**
 * Tells what became of something that is done, again while a part of the cluster is away. Never
 * rejects; a line in the log says what is lost.
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
 * Whether a process before this one came to the end of the run. One that goes on elsewhere, as
 * orchestrations do, is waited for.
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

/** Whether the same call may succeed later. */
export function isOutage(error: unknown): boolean {
  if (error instanceof BusError) return error.retryable;
  return error instanceof MasterUnavailableError || isAway(error);
}
