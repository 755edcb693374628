import type { KnownMinion } from '@brine/presence';
import { intOf, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { MasterUnavailableError } from '../errors.ts';
import type { MasterPorts } from '../ports/ports.ts';

/** Limit of minions in the list; all are counted. */
const LISTED_MAX = 500;
/** Limit of ids in one question about presence. */
const ASKED_AT_ONCE = 1_000;

/** The reports of all services in the cluster: `roll`. */
export async function callTheRoll(ports: MasterPorts): Promise<SaltValue> {
  if (ports.roll === undefined) throw new MasterUnavailableError('no services can be called here');
  return ports.roll();
}

/**
 * The state of minions: `{limit?}` → `{keys: {state: count}, present, absent, listed: [{id, state,
 * sinceMs, goneMs, address}]}`. Absent minions are listed first, the most recently lost before all
 * others, then the undecided keys. Without presence `present` is null.
 */
export async function listMinions(ports: MasterPorts, args: SaltMap): Promise<SaltValue> {
  const limit = Math.min(Math.max(intOf(args, 'limit') ?? LISTED_MAX, 0), LISTED_MAX);
  const keys = new Map<SaltValue, number>();
  const waiting: string[] = [];
  const count = (state: string): unknown => keys.set(state, (keys.get(state) ?? 0) + 1);
  for (const [id, { state, denied }] of ports.keys.all()) {
    if (denied.length > 0) count('denied');
    if (state === 'deleted') continue;
    count(state);
    if (state === 'pending') waiting.push(id);
  }
  const absent = await absentOf(ports);
  const lost = absent === undefined ? [] : await lastLost(ports, absent, limit);
  const pending = waiting.sort().map((id) => mapOf({ id, state: 'pending' }));
  return mapOf({
    keys: new Map<SaltValue, SaltValue>(keys),
    present: absent === undefined ? null : ports.keys.accepted().size - absent.length,
    absent: absent?.length ?? null,
    listed: [...lost, ...pending].slice(0, limit),
  });
}

/** Accepted minions without a connection; undefined if presence is unknown. */
async function absentOf({ presence, keys }: MasterPorts): Promise<string[] | undefined> {
  if (presence === undefined) return undefined;
  try {
    const present = await presence.present();
    return [...keys.accepted()].filter((id) => !present.has(id));
  } catch (error) {
    if (error instanceof MasterUnavailableError) return undefined;
    throw error;
  }
}

async function lastLost(
  { presence }: MasterPorts,
  ids: readonly string[],
  limit: number,
): Promise<SaltMap[]> {
  const known = new Map<string, KnownMinion>();
  for (let from = 0; from < ids.length; from += ASKED_AT_ONCE) {
    const part = await presence?.of(ids.slice(from, from + ASKED_AT_ONCE));
    for (const [id, connection] of part ?? []) known.set(id, connection);
  }
  const goneMs = (id: string): number => known.get(id)?.goneMs ?? 0;
  return [...ids]
    .sort((one, other) => goneMs(other) - goneMs(one) || (one < other ? -1 : 1))
    .slice(0, limit)
    .map((id) => {
      const { sinceMs = 0, address = '' } = known.get(id) ?? {};
      return mapOf({ id, state: 'absent', sinceMs, goneMs: goneMs(id), address });
    });
}
