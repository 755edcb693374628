import type { StockReturn } from '@brine/cachedir';
import { isMap, mapOf, type SaltMap } from '@brine/wire';
import type { JobHead } from './edge/stock-side.ts';

/** A return, ready to be stored as a row. */
export interface ReturnLoad {
  readonly jid: string;
  readonly id: string;
  /** The load of `_return`. */
  readonly load: SaltMap;
  readonly timeMs: number;
}

/** Fields that a stock master stores of a return (Salt: salt/returners/local_cache.py returner). */
const KEPT = ['return', 'retcode', 'success'] as const;

/** Rebuilds the load that a minion sent from a stored return, as far as the file allows. */
export function returnLoad({ jid, load }: JobHead, given: StockReturn): ReturnLoad {
  const { id, value, out, timeMs } = given;
  // Old masters stored the value alone; a map without `return` is such a value.
  const kept = isMap(value) && value.has('return') ? value : mapOf({ return: value });
  const named: SaltMap = mapOf({
    cmd: '_return',
    id,
    jid,
    fun: load.get('fun'),
    fun_args: load.get('arg') ?? [],
    out,
  });
  for (const name of KEPT) {
    const one = kept.get(name);
    if (one !== undefined) named.set(name, one);
  }
  return { jid, id, load: named, timeMs };
}
