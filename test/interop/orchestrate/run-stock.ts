import { SaltSandbox, type SaltVenv } from '@brine/testing';
import { until } from '@brine/testing/waits';
import {
  masterConfig,
  MINIONS,
  type Orchestration,
  type Outcome,
  outcomeOf,
} from './orchestrations.ts';

/** Longest time of one call, ms. */
const CALL_MS = 180_000;

/** Runs orchestrations by `salt-run` at a stock master with stock minions. */
export async function runAtStock(
  venv: SaltVenv,
  asked: readonly Orchestration[],
  onDone: (name: string, outcome: Outcome) => void,
): Promise<void> {
  await using sandbox = await SaltSandbox.create();
  const home = await sandbox.master({ ...masterConfig(), worker_threads: 5 });
  await sandbox.startMaster(venv, home);
  for (const id of MINIONS) sandbox.startMinion(venv, await sandbox.minion(id, home.retPort));
  await until(
    'both minions answer',
    async () => {
      const args = ['*', 'test.ping', '--static', '--out', 'json', '-t', '5'];
      const { stdout } = await sandbox.run(venv, 'salt', home, args);
      return MINIONS.every((id) => stdout.includes(`"${id}": true`));
    },
    { withinMs: 120_000 },
  );
  for (const { name, args } of asked) {
    const given = ['--out', 'json', '-l', 'quiet', ...args];
    const { code, stdout } = await sandbox.run(venv, 'salt-run', home, given, CALL_MS);
    onDone(name, outcomeOf(code, stdout));
  }
}
