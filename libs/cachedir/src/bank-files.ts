import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readIfThere, removeIfThere, writeAtomic } from '@brine/files';
import { mapOf, pack, type SaltMap } from '@brine/wire';

/** What a minion told of itself, as stock tools name it. */
export type MinionBank = 'grains' | 'mine';

/** Where a release looks: 3006 and 3007 in a directory per minion, 3008 in one per bank. */
export type BankLayout = '3006' | '3008';

/** As Salt's own, for the master's user only. Not synced: the buckets have the same. */
const FILE = { mode: 0o600, synced: false } as const;
const DIR_MODE = 0o755;

/**
 * The banks of minions that stock `salt-run cache.*`, `mine.get`, `pillar.show_pillar` and
 * `manage.present` read in their own process (Salt: salt/cache/localfs.py).
 */
export class BankFiles {
  readonly #cachedir: string;
  readonly #layouts: readonly BankLayout[];

  constructor(cachedir: string, layouts: readonly BankLayout[]) {
    this.#cachedir = cachedir;
    this.#layouts = layouts;
  }

  /** Writes what a minion told, if it is not there yet; undefined removes it. */
  async keep(bank: MinionBank, id: string, data: SaltMap | undefined): Promise<void> {
    for (const layout of this.#layouts) {
      const path = join(this.#cachedir, pathIn(layout, bank, id));
      if (data === undefined) {
        await removeIfThere(path);
        continue;
      }
      const whole = layout === '3006' && bank === 'grains' ? mapOf({ grains: data }) : data;
      const bytes = pack(whole, 'bin');
      if ((await readIfThere(path))?.equals(bytes) === true) continue;
      await mkdir(dirname(path), { recursive: true, mode: DIR_MODE });
      await writeAtomic(path, bytes, FILE);
    }
  }
}

function pathIn(layout: BankLayout, bank: MinionBank, id: string): string {
  if (layout === '3008') return join(bank, `${id}.p`);
  return join('minions', id, bank === 'grains' ? 'data.p' : 'mine.p');
}
