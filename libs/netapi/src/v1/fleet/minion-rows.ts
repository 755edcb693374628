import { timeText } from '@brine/api';
import {
  LISTED_GRAINS,
  type MinionsFilter,
  type MinionShown,
  type MinionsPage,
} from '@brine/api/fleet';
import type { FleetFacets, FleetOrder, FleetQuery, FleetRow } from '@brine/fleet';
import { timeOf } from '../time-or-age.ts';

/** Which minions are wanted, in which order. @throws RefusedRequest */
export function fleetQuery(
  asked: MinionsFilter,
  nowMs: number,
): Omit<FleetQuery, 'limit'> & { readonly order: FleetOrder } {
  const { q, key, present, silentSince, sort, facets } = asked;
  const order = orderOf(sort);
  return {
    id: q,
    keys: key === undefined ? undefined : [key].flat(),
    present: present === undefined ? undefined : present === 'true',
    grains: grainsOf(asked),
    silentSince:
      silentSince === undefined ? undefined : timeOf('silentSince', silentSince, nowMs) / 1_000,
    order,
    isDown: sort.startsWith('-'),
    withFacets: facets === 'true',
  };
}

function orderOf(sort: string): FleetOrder {
  const name = sort.replace(/^-/, '');
  const isGrain = (LISTED_GRAINS as readonly string[]).includes(name);
  return isGrain ? { grain: name } : (name as FleetOrder);
}

/** The filters by grains; several values of one grain are alternatives. */
function grainsOf({
  version = [],
  os = [],
  grain = [],
}: MinionsFilter): NonNullable<FleetQuery['grains']> {
  const wanted = new Map<string, string[]>();
  const add = (name: string, text: string): void => {
    wanted.set(name, [...(wanted.get(name) ?? []), text]);
  };
  for (const text of [version].flat()) add('saltversion', text);
  for (const text of [os].flat()) add('os', text);
  for (const pair of [grain].flat()) {
    const colon = pair.indexOf(':');
    add(pair.slice(0, colon), pair.slice(colon + 1));
  }
  return [...wanted].map(([name, texts]) => ({ name, texts }));
}

/** Facets as answers have them. */
export function facetsShown({ key, present, grains }: FleetFacets): Facets {
  return { key, present, grains } as Facets;
}

type Facets = NonNullable<MinionsPage['facets']>;

function timeOr(seconds: number | undefined): string | null {
  return seconds === undefined ? null : timeText(seconds);
}

/** A minion as answers have it. */
export function minionShown({ seen, since, stateRun, grains, ...row }: FleetRow): MinionShown {
  const texts = LISTED_GRAINS.map((name, at) => [name, grains[at] || null]);
  return {
    id: row.id,
    key: row.key,
    hasDenied: row.hasDenied,
    present: row.present ?? null,
    since: timeOr(since),
    seen: seen === undefined ? null : { at: timeText(seen.at), by: seen.by },
    grains: Object.fromEntries(texts) as MinionShown['grains'],
    stateRun: runShown(stateRun),
  };
}

/** A run of states as answers have it. */
export function runShown(run: FleetRow['stateRun']): MinionShown['stateRun'] {
  if (run === undefined) return null;
  return { jid: run.jid, at: timeText(run.at), result: run.hasFailed ? 'failed' : 'ok' };
}
