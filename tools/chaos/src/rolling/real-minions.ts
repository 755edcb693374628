import { saltVenv, type BrineMaster, type SaltProcess } from '@brine/testing';
import { RELEASES } from './commands.ts';

/** A line of a minion at each log-in (salt/minion.py, salt/crypt.py). */
const LOGGED_IN = /Authentication with master at \S+ successful/g;
const READY_MS = 240_000;

/** Real minions of several releases, with Salt's own reconnect times. */
export class RealMinions {
  readonly ids: readonly string[];
  readonly #processes: ReadonlyMap<string, SaltProcess>;

  private constructor(processes: ReadonlyMap<string, SaltProcess>) {
    this.#processes = processes;
    this.ids = [...processes.keys()];
  }

  /** Starts them and waits until each answers. */
  static async start(master: BrineMaster, count: number): Promise<RealMinions> {
    const processes = new Map<string, SaltProcess>();
    for (let number = 1; number <= count; number += 1) {
      const venv = await saltVenv(RELEASES[number % RELEASES.length] ?? RELEASES[0]);
      const id = `real-${number}`;
      const config = { recon_default: 1_000, recon_max: 10_000 };
      const home = await master.sandbox.minion(id, master.home.retPort, config);
      processes.set(id, master.sandbox.startMinion(venv, home));
    }
    const minions = new RealMinions(processes);
    if (count > 0) {
      await master.acceptKeys(minions.ids, READY_MS);
      await master.waitForMinions(minions.ids, READY_MS);
    }
    return minions;
  }

  /** Log-ins of each so far. */
  async logIns(): Promise<Readonly<Record<string, number>>> {
    const counts = [...this.#processes].map(async ([id, process]) => {
      return [id, (await process.log()).match(LOGGED_IN)?.length ?? 0] as const;
    });
    return Object.fromEntries(await Promise.all(counts));
  }
}
