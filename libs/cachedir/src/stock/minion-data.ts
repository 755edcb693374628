import { join } from 'node:path';
import { isMap, mapIn, type SaltMap } from '@brine/wire';
import { changedMs, namesIn, type PassedOver, readPacked } from './bounded.ts';

/** What a stock master keeps of one minion, and when it wrote it. */
export interface StockBankRecord {
  readonly bank: 'grains' | 'pillar' | 'mine';
  readonly id: string;
  /** Of a pillar that was made for an environment. */
  readonly env?: string;
  readonly data: SaltMap;
  /** Unix ms. */
  readonly timeMs: number;
}

/** A mine or a pillar of one minion; real ones have some KB. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Reads grains, pillars and mines of both layouts (bank-files.ts). A cachedir that was upgraded to
 * 3008, or that went back, has the files of both releases: only the newer come.
 */
export async function* readStockBanks(
  cachedir: string,
  onPassed: (passed: PassedOver) => void,
): AsyncGenerator<StockBankRecord> {
  for (const id of await namesIn(join(cachedir, 'minions'))) {
    const dir = join(cachedir, 'minions', id);
    const data = await readPacked(join(dir, 'data.p'), MAX_BYTES, onPassed);
    const mine = await readPacked(join(dir, 'mine.p'), MAX_BYTES, onPassed);
    for (const bank of ['grains', 'pillar', 'mine'] as const) {
      const file = bank === 'mine' ? mine : data;
      if (file === undefined || !isMap(file.value)) continue;
      const found = bank === 'mine' ? file.value : mapIn(file.value, bank);
      if (found === undefined) continue;
      if ((await changedMs(join(cachedir, bank, `${id}.p`))) > file.timeMs) continue;
      yield { bank, id, data: found, timeMs: file.timeMs };
    }
  }
  for (const bank of ['grains', 'pillar', 'mine'] as const) {
    for (const name of await namesIn(join(cachedir, bank))) {
      // Another name is a draft of Python's tempfile.
      if (!name.endsWith('.p')) continue;
      const found = await readPacked(join(cachedir, bank, name), MAX_BYTES, onPassed);
      if (found === undefined || !isMap(found.value)) continue;
      const { id, env } = keyOf(bank, name.slice(0, -2));
      const old = join(cachedir, 'minions', id, bank === 'mine' ? 'mine.p' : 'data.p');
      if (env === undefined && (await changedMs(old)) >= found.timeMs) continue;
      yield {
        bank,
        id,
        ...(env === undefined ? {} : { env }),
        data: found.value,
        timeMs: found.timeMs,
      };
    }
  }
}

/** A pillar's key may end in an environment (Salt: salt/pillar/__init__.py pillar_key). */
function keyOf(bank: string, key: string): { readonly id: string; readonly env?: string } {
  const at = bank === 'pillar' ? key.indexOf(':') : -1;
  return at < 0 ? { id: key } : { id: key.slice(0, at), env: key.slice(at + 1) };
}
