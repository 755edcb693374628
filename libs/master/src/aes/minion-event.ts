import { firedTag, minionStartTag, syndicStartTag } from '@brine/job';
import { isMap, mapIn, pack, type SaltMap, textOf, WireError } from '@brine/wire';
import { type MinionEventLoad, parseMinionEvent } from '@brine/wire/load';
import type { MasterPorts } from '../ports/ports.ts';
import { mayFire } from './may-fire.ts';
import { mayBeSyndic, minionsNamed, reportExpected } from './syndics.ts';

/** Limit of events in one list; a minion that sends more in one request is not a stock minion. */
const EVENTS_PER_REQUEST_MAX = 10_000;

/** An event to fire, with the id under which it is appended once. */
interface Fired {
  readonly kind: 'minion' | 'syndic';
  readonly tag: string;
  readonly data: SaltMap;
  readonly minion: string;
  readonly msgId: string;
}

/**
 * Fires the events of a minion (salt/daemons/masterapi.py `_minion_event`). The single form fires
 * the whole load under its tag; the list form fires each `data`, and again below `pretag`. The same
 * rules apply to both forms (may-fire.ts); only the syndic that a `pretag` names may use it.
 *
 * @param load the load without `tok` and `nonce`
 * @param once the same for every copy of this request, so that a replay fires nothing
 * @returns false for a malformed load (Salt answers `{}` then)
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
  const isSyndic = mayBeSyndic(ports, id) && (await ports.syndics.isKnown(id));
  if (parsed.kind === 'single') await noteStart(ports, parsed);
  const fired = eventsOf(ports, parsed, { once, isSyndic });
  // Sent in this order on one connection; waiting for each would take seconds for a list.
  await Promise.all(fired.map((event) => fire(ports, event)));
  await rememberGrains(ports, load);
  return true;
}

/** The kind of event, by the prefix of its tag. */
async function noteStart(
  ports: MasterPorts,
  { id, tag }: { readonly id: string; readonly tag: string },
): Promise<void> {
  if (tag === syndicStartTag(id) && mayBeSyndic(ports, id)) await ports.syndics.remember(id);
  if (tag === minionStartTag(id) && ports.syndics.unanswering().has(id)) {
    await ports.syndics.answers(id);
  }
}

/** The permitted events of a load; refused ones are counted. */
function eventsOf(
  ports: MasterPorts,
  parsed: MinionEventLoad,
  { once, isSyndic }: { readonly once: string; readonly isSyndic: boolean },
): Fired[] {
  const minion = parsed.id;
  if (parsed.kind === 'single') {
    const { tag, load: data } = parsed;
    const may = mayFire(ports, { tag, data, minion, isSyndic });
    if (!may) ports.count('minion_event_refused');
    return may ? [{ kind: 'minion', tag, data, minion, msgId: `minion:${once}` }] : [];
  }
  const { pretag, unfit } = parsed;
  for (let n = 0; n < unfit; n += 1) ports.count('minion_event_unfit');
  // A pretag could put any event below a tag of the sender's choice, past the list of tags.
  const mayPrefix = isSyndic && pretag === `syndic/${minion}`;
  if (pretag !== undefined && !mayPrefix) ports.count('minion_event_pretag_refused');
  return parsed.events.slice(0, EVENTS_PER_REQUEST_MAX).flatMap(({ tag, data }, index): Fired[] => {
    if (!isMap(data)) return [];
    const plain = { kind: 'minion', tag, data, minion, msgId: `minion:${once}:${index}` } as const;
    const may = mayFire(ports, { tag, data, minion, isSyndic });
    const above = mayPrefix && firedTag(tag).kind !== 'unfit';
    if (!may && !above) ports.count('minion_event_refused');
    const fired: Fired[] = may ? [plain] : [];
    if (!above) return fired;
    // As 3008 fires them: a syndic sends every event of its master's bus below its own name.
    const kind = data.has('minions') ? 'syndic' : 'minion';
    return [{ ...plain, kind, tag: `${pretag}/${tag}`, msgId: `${plain.msgId}:pre` }, ...fired];
  });
}

async function fire(ports: MasterPorts, event: Fired): Promise<void> {
  const { kind, tag, data, minion, msgId } = event;
  const appended = ports.events.append({ kind, tag, body: pack(data), minion, msgId });
  if (kind === 'syndic') await noteExpected(ports, minion, data);
  await appended;
  ports.count('minion_events');
}

/** Salt: salt/master.py AESFuncs._handle_minion_event. */
async function noteExpected(ports: MasterPorts, syndic: string, data: SaltMap): Promise<void> {
  const jid = textOf(data, 'jid');
  const minions = minionsNamed(data.get('minions'));
  if (jid === undefined || minions === undefined) return;
  await reportExpected(ports, { syndic, jid, minions, load: data });
}

/**
 * `start_event_grains`: stores the grains of a start event, for targets. `grains.id` is the id of
 * the channel, whatever the grains contain.
 */
async function rememberGrains(ports: MasterPorts, load: SaltMap): Promise<void> {
  const grains = mapIn(load, 'grains');
  const minion = load.get('id');
  if (grains === undefined || typeof minion !== 'string' || !ports.rules.minionDataCache) return;
  if (ports.minionData.grains(minion) === undefined) {
    await ports.minionData.storeGrains(minion, new Map(grains).set('id', minion));
  }
}
