import { BrineMaster, saltVenv } from '@brine/testing';
import {
  masterConfig,
  MINIONS,
  type Orchestration,
  type Outcome,
  outcomeOf,
  VERSION,
} from './orchestrations.ts';

/** Longest time of one call, ms. */
const CALL_MS = 180_000;

/** A Brine master with the stock minions that the orchestrations name. */
export async function startOrchestrated(
  brine: Readonly<Record<string, unknown>> = {},
): Promise<BrineMaster> {
  const venv = await saltVenv(VERSION);
  const master = await BrineMaster.start({ ...masterConfig(), brine });
  try {
    const { sandbox, home } = master;
    for (const id of MINIONS) sandbox.startMinion(venv, await sandbox.minion(id, home.retPort));
    await master.acceptKeys(MINIONS);
    await master.waitForMinions(MINIONS);
    return master;
  } catch (error) {
    await master.close();
    throw error;
  }
}

/** Runs orchestrations by `brine run`. */
export async function runAtBrine(
  master: BrineMaster,
  asked: readonly Orchestration[],
): Promise<Record<string, Outcome>> {
  const outcomes: Record<string, Outcome> = {};
  for (const { name, args } of asked) {
    const given = ['--out', 'json', '-l', 'quiet', ...args];
    const { code, stdout } = await master.brine('run', given, CALL_MS);
    outcomes[name] = outcomeOf(code, stdout);
  }
  return outcomes;
}
