import { mayMinionFire } from '@brine/job';
import { isMap, mapIn, pack, parseMinionEvent, WireError, type SaltMap } from '@brine/wire';
import type { MasterPorts, Request } from '../ports.ts';

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
 * Tags of the master's own (CVE-2025-22239) are refused in both forms.
 *
 * @param load the load without `tok` and `nonce`
 * @returns false where the load is malformed (Salt answers `{}` then)
 */
export async function takeMinionEvent(
  ports: MasterPorts,
  request: Request,
  load: SaltMap,
): Promise<boolean> {
  let events: readonly Fired[];
  try {
    events = eventsOf(load, request);
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    ports.count('minion_event_malformed');
    return false;
  }
  for (const event of events) await fire(ports, event);
  await rememberGrains(ports, load);
  return true;
}

function eventsOf(load: SaltMap, request: Request): Fired[] {
  const parsed = parseMinionEvent(load);
  const minion = parsed.id;
  if (parsed.kind === 'single') {
    return [{ tag: parsed.tag, data: load, minion, msgId: `minion:${request.id}` }];
  }
  const { pretag } = parsed;
  return parsed.events.slice(0, EVENTS_PER_REQUEST_MAX).flatMap(({ tag, data }, index) => {
    if (!isMap(data)) return [];
    const msgId = `minion:${request.id}:${index}`;
    const plain = { tag, data, minion, msgId };
    if (pretag === undefined) return [plain];
    return [plain, { ...plain, tag: `${pretag}/${tag}`, msgId: `${msgId}:pre` }];
  });
}

async function fire(ports: MasterPorts, event: Fired): Promise<void> {
  if (!mayMinionFire(event.tag)) {
    ports.count('minion_event_refused');
    return;
  }
  const { tag, data, minion, msgId } = event;
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
