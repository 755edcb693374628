// The small form of `npm run chaos -- --tree 1000`, which is no part of the suite.
import { expect, it } from 'vitest';
import { runChaos } from './run-chaos.ts';

/** Those that every plan begins with: relay, master above, each way of the link. */
const FAULTS = 8;
const JOBS = 40;

interface Books {
  readonly ok: boolean;
  readonly figures: { readonly jobs: number; readonly acknowledged: number };
}

interface Seen {
  readonly above: {
    readonly faults: readonly { readonly what: string }[];
    readonly failures: readonly string[];
    readonly ledger?: Books;
  };
  readonly below: Books;
  readonly both: {
    readonly jobs: number;
    readonly above: number;
    readonly below: number;
    readonly differences: readonly string[];
  };
}

it('two relays, a master above and the link between fail: both ledgers tell the same, once', async () => {
  const asked = ['--tree', `${JOBS}`, '--faults', `${FAULTS}`, '--seed', '1'];
  const load = ['--minions', '20', '--rate', '1'];
  const { code, said, report } = await runChaos<Seen>([...asked, ...load]);
  expect(code, said).toBe(0);
  const { above, below, both } = report();
  expect(above.failures).toEqual([]);
  expect(above.faults).toHaveLength(FAULTS);
  expect(above.ledger?.ok).toBe(true);
  expect(below.ok).toBe(true);
  expect(both.differences).toEqual([]);
  expect(both.above).toBe(both.below);
  // There was a load: a check of nothing finds nothing.
  expect(both.jobs).toBeGreaterThan(JOBS / 2);
  expect(both.above).toBeGreaterThan(JOBS);
}, 900_000);
