import type { MasterName, MasterUnderTest } from '../masters/master.ts';
import { Fleet, type FleetOptions } from './fleet.ts';

/** One fleet for each master, all logged in. They end together. */
export class Fleets {
  readonly #fleets: ReadonlyMap<MasterName, Fleet>;

  private constructor(fleets: ReadonlyMap<MasterName, Fleet>) {
    this.#fleets = fleets;
  }

  /** Starts fleets one after the other and logs their minions in. */
  static async start(masters: readonly MasterUnderTest[], options: FleetOptions): Promise<Fleets> {
    const fleets = new Map<MasterName, Fleet>();
    const all = new Fleets(fleets);
    try {
      for (const master of masters) {
        const fleet = await Fleet.start(master, options);
        fleets.set(master.name, fleet);
        const { answered } = await fleet.logIn();
        if (answered < options.minions) {
          options.say?.(`${master.name}: ${answered} of ${options.minions} minions logged in`);
        }
      }
      return all;
    } catch (error) {
      await all.close();
      throw error;
    }
  }

  /** The fleet of a master. */
  of(master: MasterUnderTest): Fleet {
    const fleet = this.#fleets.get(master.name);
    if (fleet === undefined) throw new Error(`${master.name} has no fleet`);
    return fleet;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#fleets.values()].map((fleet) => fleet.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
