import { firedTag, isMinionId } from '@brine/job';
import { matchGlob } from '@brine/target';
import { isMap, type SaltMap } from '@brine/wire';
import type { MasterPorts } from '../ports/ports.ts';

/** An event that a minion asks to fire. */
export interface WantedEvent {
  readonly tag: string;
  readonly data: SaltMap;
  /** The minion that sent it. */
  readonly minion: string;
  readonly isSyndic: boolean;
}

/**
 * Fields of a job's events that readers trust as the master's, under any tag: the refusal of the
 * job, and the minions to wait for (salt/client/__init__.py get_iter_returns).
 */
export const WORDS_OF_THE_MASTER = ['error', 'minions', 'missing', 'syndic'] as const;

/** Placeholder for the sender in `brine.minion_events`. */
const ID = '{id}';

/**
 * True if the sender may fire an event. Outside Salt's namespaces all are allowed. Within them,
 * minions may report about themselves, and `brine.minion_events` adds tags. A syndic speaks for
 * minions whose keys this master does not have. Salt refuses a few tags, and only in one of the two
 * forms.
 */
export function mayFire(ports: MasterPorts, wanted: WantedEvent): boolean {
  const about = firedTag(wanted.tag);
  const { data } = wanted;
  switch (about.kind) {
    case 'custom':
      return true;
    case 'plain':
      return namesOnly(data, (id) => speaksFor(ports, wanted, id));
    case 'named':
      if (about.job && WORDS_OF_THE_MASTER.some((word) => data.has(word))) return false;
      return speaksFor(ports, wanted, about.id) && namesOnly(data, (id) => id === about.id);
    case 'below':
      return wanted.isSyndic && speaksFor(ports, wanted, about.id);
    case 'unlisted':
      return isAdded(ports, wanted) && namesOnly(data, (id) => speaksFor(ports, wanted, id));
    case 'reserved':
    case 'unfit':
      return false;
  }
}

function speaksFor(ports: MasterPorts, { minion, isSyndic }: WantedEvent, id: unknown): boolean {
  if (id === minion) return true;
  return isSyndic && isMinionId(id) && ports.keys.cached(id)?.state !== 'accepted';
}

/** The single form fires the whole load, with the minion's own data in `data`. */
function namesOnly(data: SaltMap, fits: (id: unknown) => boolean): boolean {
  const inner = data.get('data');
  return [data, isMap(inner) ? inner : undefined].every(
    (map) => map?.has('id') !== true || fits(map.get('id')),
  );
}

/** `brine.minion_events`: globs, in which `{id}` is each minion that the sender may speak for. */
function isAdded(ports: MasterPorts, wanted: WantedEvent): boolean {
  const { minionEvents = [] } = ports.rules;
  if (minionEvents.length === 0) return false;
  const named = wanted.tag.split('/').filter((word) => speaksFor(ports, wanted, word));
  return minionEvents.some((glob) => {
    if (!glob.includes(ID)) return matchGlob(glob, wanted.tag);
    return named.some((id) => matchGlob(glob.replaceAll(ID, literally(id)), wanted.tag));
  });
}

function literally(id: string): string {
  return id.replace(/[*?[]/g, '[$&]');
}
