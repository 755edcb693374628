// The small form of `npm run chaos -- --rolling 10 --minions 2000`, which is no part of the suite.
import { expect, it } from 'vitest';
import { runChaos } from './run-chaos.ts';

const MINIONS = 20;

interface Seen {
  readonly rounds: readonly object[];
  readonly load: { readonly jobs: number };
  readonly logIns: { readonly during: number; readonly subscriptions: number };
  readonly failures: readonly string[];
  readonly ledger?: {
    readonly ok: boolean;
    readonly figures: { readonly jobs: number; readonly acknowledged: number };
  };
}

it('all services are replaced under load: no call fails, nothing is lost, no minion logs in', async () => {
  const asked = ['--rolling', '1', '--minions', `${MINIONS}`, '--jobs', '3', '--pause', '2'];
  const { code, said, report } = await runChaos<Seen>([...asked, '--deadline', '15']);
  expect(code, said).toBe(0);
  const { rounds, load, logIns, failures, ledger } = report();
  expect(failures).toEqual([]);
  expect(rounds).toHaveLength(1);
  expect(ledger?.ok).toBe(true);
  // There was a load, and 4505 was really lost: without both there is nothing to see.
  expect(load.jobs).toBeGreaterThan(5);
  expect(ledger?.figures.acknowledged).toBeGreaterThan(5);
  expect(logIns).toMatchObject({ during: 0, subscriptions: MINIONS });
}, 300_000);
