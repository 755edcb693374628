import { BrineMaster, saltVenv } from '@brine/testing';
import {
  appliesStates,
  masterConfig,
  MINIONS,
  type Orchestration,
  type Outcome,
  outcomeOf,
  VERSION,
} from './orchestrations.ts';

/** Longest time of one call, ms. */
const CALL_MS = 180_000;
/** Orchestrations that apply no states and run at a time. */
const BESIDE = 2;

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

/** Runs orchestrations by `brine run`, some at a time. */
export async function runAtBrine(
  master: BrineMaster,
  asked: readonly Orchestration[],
): Promise<Record<string, Outcome>> {
  const outcomes: Record<string, Outcome> = {};
  const lane = async (waiting: Orchestration[]): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      outcomes[next.name] = await runOne(master, next);
    }
  };
  const others = asked.filter((one) => !appliesStates(one));
  await Promise.all([
    lane(asked.filter(appliesStates)),
    ...Array.from({ length: BESIDE }, () => lane(others)),
  ]);
  return outcomes;
}

/** Runs one orchestration by `brine run`. */
export async function runOne(
  master: BrineMaster,
  { args }: Pick<Orchestration, 'args'>,
): Promise<Outcome> {
  const given = ['--out', 'json', '-l', 'quiet', ...args];
  const { code, stdout } = await master.brine('run', given, CALL_MS);
  return outcomeOf(code, stdout);
}
