import { mayMinionFire, speaksForItself, syndicStartTag } from '@brine/job';
import {
  isMap,
  mapIn,
  pack,
  parseMinionEvent,
  WireError,
  type MinionEventLoad,
  type SaltMap,
} from '@brine/wire';
import type { MasterPorts } from '../ports.ts';

/** Events of one list; a minion that sends more in one request is not a stock minion. */
const EVENTS_PER_REQUEST_MAX = 10_000;

/** An event on its way, with the id under which it is appended once. */
interface Fired {
  readonly tag: string;
  readonly data: SaltMap;
  readonly minion: string;
  readonly msgId: string;
}

/**
 * Takes events a minion fires (salt/daemons/masterapi.py `_minion_event`). The single form fires
 * the whole load under its tag; the list form fires each `data`, and again below `pretag`.
 * Tags of the master's own (CVE-2025-22239) are refused in both forms, tags of other minions from
 * all but syndics, and a `pretag` from all but the syndic that it names.
 *
 * @param load the load without `tok` and `nonce`
 * @param once the same for every sending of this request, so that a replay fires nothing
 * @returns false where the load is malformed (Salt answers `{}` then)
 */
export async function takeMinionEvent(
  ports: MasterPorts,
  once: string,
  load: SaltMap,
): Promise<boolean> {
  let parsed: MinionEventLoad;
  try {
    parsed = parseMinionEvent(load);
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    ports.count('minion_event_malformed');
    return false;
  }
  const { id } = parsed;
  const isSyndic = ports.rules.orderMasters || (await ports.syndics.isKnown(id));
  for (const event of eventsOf(ports, parsed, { once, isSyndic })) {
    await fire(ports, event, isSyndic);
  }
  await rememberGrains(ports, load);
  return true;
}

function eventsOf(
  ports: MasterPorts,
  parsed: MinionEventLoad,
  { once, isSyndic }: { readonly once: string; readonly isSyndic: boolean },
): Fired[] {
  const minion = parsed.id;
  if (parsed.kind === 'single') {
    return [{ tag: parsed.tag, data: parsed.load, minion, msgId: `minion:${once}` }];
  }
  const { pretag } = parsed;
  // A pretag would else take any event below a tag of the sender's choice, past the list of tags.
  const mayPrefix = isSyndic && pretag === `syndic/${minion}`;
  if (pretag !== undefined && !mayPrefix) ports.count('minion_event_pretag_refused');
  return parsed.events.slice(0, EVENTS_PER_REQUEST_MAX).flatMap(({ tag, data }, index) => {
    if (!isMap(data)) return [];
    const msgId = `minion:${once}:${index}`;
    const plain = { tag, data, minion, msgId };
    if (!mayPrefix) return [plain];
    return [plain, { ...plain, tag: `${pretag}/${tag}`, msgId: `${msgId}:pre` }];
  });
}

async function fire(ports: MasterPorts, event: Fired, isSyndic: boolean): Promise<void> {
  const { tag, data, minion, msgId } = event;
  if (!mayMinionFire(tag) || !(isSyndic || speaksForItself(tag, minion))) {
    ports.count('minion_event_refused');
    return;
  }
  if (tag === syndicStartTag(minion)) await ports.syndics.remember(minion);
  await ports.events.append({ kind: 'minion', tag, body: pack(data), minion, msgId });
  ports.count('minion_events');
}

/** `start_event_grains`: the start event carries grains that targets may ask for. */
async function rememberGrains(ports: MasterPorts, load: SaltMap): Promise<void> {
  const grains = mapIn(load, 'grains');
  const minion = load.get('id');
  if (grains === undefined || typeof minion !== 'string' || !ports.rules.minionDataCache) return;
  if (ports.minionData.grains(minion) === undefined) {
    await ports.minionData.storeGrains(minion, grains);
  }
}
