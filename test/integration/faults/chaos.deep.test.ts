import { BrineMaster } from '@brine/testing';
import { sized } from '@brine/testing/circle';
import { expect, it } from 'vitest';
import { runChaos } from './run-chaos.ts';

const FAULTS = sized({ change: 8, release: 15 });
/** Any would do; a fixed one makes a failure of today a failure of tomorrow. */
const SEED = 20_261_122;

interface Seen {
  readonly faults: readonly { readonly what: string; readonly recovery?: object }[];
  readonly failures: readonly string[];
  readonly ledger?: {
    readonly ok: boolean;
    readonly figures: { readonly acknowledged: number; readonly jobs: number };
  };
}

it(`${FAULTS} faults under load: nothing is lost, counted twice, or run twice`, async () => {
  const load = ['--minions', '30', '--jobs', '1'];
  // Not those that only root can do: the plan is to be the same everywhere.
  const kinds = ['--only', 'kill,stop,cut,stall,refuse'];
  const asked = ['--faults', `${FAULTS}`, '--seed', `${SEED}`, ...kinds, ...load];
  const { code, said, report } = await runChaos<Seen>(asked);
  expect(code, said).toBe(0);
  const { faults, failures, ledger } = report();
  expect(failures).toEqual([]);
  expect(faults).toHaveLength(FAULTS);
  expect(faults.some(({ recovery }) => recovery !== undefined)).toBe(true);
  expect(ledger?.ok).toBe(true);
  // There was a load: a check of nothing finds nothing.
  expect(ledger?.figures.jobs).toBeGreaterThan(FAULTS);
  expect(ledger?.figures.acknowledged).toBeGreaterThan(10 * FAULTS);
}, 600_000);

it('a master serves behind the wires on which packets are lost', async () => {
  // Without the right to make a namespace the kill remains.
  const kinds = ['--only', 'kill,partition'];
  const load = ['--minions', '20', '--jobs', '1'];
  const { code, said, report } = await runChaos<Seen>([
    '--faults',
    '2',
    '--seed',
    '1',
    ...kinds,
    ...load,
  ]);
  expect(code, said).toBe(0);
  expect(report().faults).toHaveLength(2);
  expect(report().ledger?.ok).toBe(true);
}, 600_000);

it('--staging does the same to a master that somebody else has started', async () => {
  await using master = await BrineMaster.start();
  const config = ['--staging', '-c', master.home.configDir];
  const faults = ['--faults', '3', '--seed', '1', '--only', 'kill'];
  const load = ['--minions', '20', '--jobs', '2'];
  const processes = async (): Promise<unknown> =>
    (await master.services()).map(({ name, pid }) => [name, pid]);
  const before = await processes();
  const refused = await runChaos(config.concat(faults, load));
  expect(refused.code).toBe(64);
  expect(await processes()).toEqual(before);
  const { code, said, report } = await runChaos<Seen>(config.concat('--yes', faults, load));
  expect(code, said).toBe(0);
  const { ledger, faults: done } = report();
  expect(done).toHaveLength(3);
  expect(ledger?.ok).toBe(true);
  expect(ledger?.figures.acknowledged).toBeGreaterThan(0);
}, 600_000);
