// The small form of `npm run chaos -- --nodes 3 --minions 200`, which is no part of the suite.
import { expect, it } from 'vitest';
import { runChaos } from './run-chaos.ts';

interface Seen {
  readonly losses: readonly { readonly node: string; readonly recovery?: object }[];
  readonly failures: readonly string[];
  readonly ledger?: {
    readonly ok: boolean;
    readonly figures: { readonly jobs: number; readonly acknowledged: number };
  };
}

it('each server of NATS and the primary of PostgreSQL are lost under load: the ledger adds up', async () => {
  const asked = ['--nodes', '1', '--minions', '20', '--jobs', '2', '--away', '1'];
  const { code, said, report } = await runChaos<Seen>([...asked]);
  expect(code, said).toBe(0);
  const { losses, failures, ledger } = report();
  expect(failures).toEqual([]);
  expect(losses.map(({ node }) => node)).toEqual([
    'nats-0',
    'nats-1',
    'nats-2',
    'the primary of PostgreSQL',
  ]);
  expect(losses.every(({ recovery }) => recovery !== undefined)).toBe(true);
  expect(ledger?.ok).toBe(true);
  // There was a load: a check of nothing finds nothing.
  expect(ledger?.figures.jobs).toBeGreaterThan(10);
  expect(ledger?.figures.acknowledged).toBeGreaterThan(20);
}, 600_000);
