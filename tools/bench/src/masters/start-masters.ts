import type { SaltVenv } from '@brine/testing';
import { BrineUnderTest } from './brine.ts';
import type { MasterName, MasterOptions, MasterUnderTest, StockName } from './master.ts';
import { StockUnderTest } from './stock.ts';

/** Which masters there are to start. */
export interface Installed {
  /** The checkout of Brine. */
  readonly checkout: string;
  readonly stock: ReadonlyMap<StockName, SaltVenv>;
}

/** The names of the masters there are, Brine first. */
export function namesOf(installed: Installed): MasterName[] {
  return ['brine', ...installed.stock.keys()];
}

/**
 * Starts one master by name.
 * @throws Error where it does not serve in time; the message has the end of its log.
 */
export function startMaster(
  installed: Installed,
  name: MasterName,
  options: MasterOptions = {},
): Promise<MasterUnderTest> {
  if (name === 'brine') return BrineUnderTest.start(installed.checkout, options);
  const venv = installed.stock.get(name);
  if (venv === undefined) throw new Error(`Salt ${name} is not installed`);
  return StockUnderTest.start(name, venv, options);
}

/** Runs an action with masters of these names, which end with it. */
export async function withMasters<T>(
  installed: Installed,
  names: readonly MasterName[],
  act: (masters: readonly MasterUnderTest[]) => Promise<T>,
  options: MasterOptions = {},
): Promise<T> {
  const masters: MasterUnderTest[] = [];
  try {
    // One after the other: starting masters take each other's time.
    for (const name of names) masters.push(await startMaster(installed, name, options));
    return await act(masters);
  } finally {
    await Promise.all(masters.map((master) => master.close()));
  }
}
