import type { SaltMap } from '@brine/wire';
import { listOf, mapOf, textOf } from '@brine/wire';
import type { SyndicJob } from '@brine/wire/load';
import { buildSyndicReturn } from '@brine/wire/load';
import { returnAbove } from './roads.ts';

/** A return with its job and minion. */
export interface ReturnToForward {
  readonly jid: string;
  readonly minion: string;
  readonly data: SaltMap;
}

/** The `_syndic_return` of several returns, with the load of each job from `loadOf`. */
export function syndicReturn(
  id: string,
  returns: readonly ReturnToForward[],
  loadOf: (jid: string) => SaltMap | undefined,
): SaltMap {
  const jobs = new Map<string, SyndicJob & { readonly returns: Map<string, SaltMap> }>();
  for (const { jid, minion, data } of returns) {
    // A second return of one minion would replace the first, so it gets another key.
    const key = freeKey(jobs, jid, minion);
    let job = jobs.get(key);
    if (job === undefined) {
      job = { ...jobOf(id, jid, data), load: loadOf(jid) ?? mapOf({}), returns: new Map() };
      jobs.set(key, job);
    }
    job.returns.set(minion, returnAbove(data));
  }
  return buildSyndicReturn(id, [...jobs.values()]);
}

function freeKey(
  jobs: ReadonlyMap<string, { readonly returns: ReadonlyMap<string, SaltMap> }>,
  jid: string,
  minion: string,
): string {
  let key = jid;
  for (let turn = 1; jobs.get(key)?.returns.has(minion) === true; turn += 1) key = `${jid}#${turn}`;
  return key;
}

function jobOf(id: string, jid: string, data: SaltMap): Omit<SyndicJob, 'load' | 'returns'> {
  const masterId = textOf(data, 'master_id');
  const out = textOf(data, 'out');
  return {
    id,
    jid,
    fun:
      textOf(data, 'fun') ?? (listOf(data, 'fun') ?? []).filter((one) => typeof one === 'string'),
    ...(masterId === undefined ? {} : { masterId }),
    ...(out === undefined ? {} : { out }),
  };
}
