import { isJid } from '@brine/job';
import type { SaltMap, SaltValue } from '@brine/wire';

/** `syndic_mode`: all events go up, or jobs only. */
export type SyndicMode = 'sync' | 'cluster';

/** How an event goes up. */
export type Road = 'return' | 'event' | 'none';

/** The fields of a return for the master above (salt/minion.py SyndicManager._process_event). */
const RETURN_FIELDS = ['return', 'retcode', 'success', 'fun_args'] as const;

/**
 * How an event goes up (salt/minion.py SyndicManager._process_event).
 *
 * @param masterId of this master: in a cluster, returns to its own jobs stay here
 */
export function roadOf(
  tag: string,
  data: SaltMap,
  mode: SyndicMode,
  masterId: string | undefined,
): Road {
  const words = tag.split('/');
  const isJob = words.length >= 4 && words[1] === 'job' && isJid(words[2]);
  const isReturn = isJob && words[3] === 'ret' && data.has('return');
  if (isReturn) {
    const own = mode === 'cluster' && masterId !== undefined && data.get('master_id') === masterId;
    return own || !data.has('jid') ? 'none' : 'return';
  }
  const wanted = mode === 'sync' || (isJob && data.has('minions'));
  return wanted && !data.has('retcode') ? 'event' : 'none';
}

/** A return in the form of a `_syndic_return`. */
export function returnAbove(data: SaltMap): SaltMap {
  const kept = new Map<SaltValue, SaltValue>();
  for (const field of RETURN_FIELDS) {
    const value = data.get(field);
    if (value !== undefined) kept.set(field, value);
  }
  return kept;
}
