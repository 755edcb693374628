import { checkNames, isName } from '../names.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { mapOf } from '../value.ts';
import { fieldError, maybe, needText, optionalText } from './fields.ts';

/*
 * _minion_event (aes) =>
 *   cmd "_minion_event"
 *   id text
 *   pretag text | nil
 * and either
 *   tag text, data any, [grains map]              the whole load is the event
 * or
 *   events list of { tag text, data any }         each data is an event
 */

/** One event inside a `_minion_event`. */
export interface MinionEvent {
  readonly tag: string;
  readonly data: SaltValue;
}

/** Events that a minion (or a syndic) fires. */
export type MinionEventLoad =
  | { readonly kind: 'single'; readonly id: string; readonly tag: string; readonly load: SaltMap }
  | {
      readonly kind: 'list';
      readonly id: string;
      readonly pretag?: string;
      readonly events: MinionEvent[];
      /** How many have an invalid tag. */
      readonly unfit: number;
    };

/**
 * Reads a `_minion_event` load. List items that are not maps with a valid tag are left out, as they
 * fire nothing. Throws WireError SALT_WIRE_FIELD if there is neither tag nor list.
 */
export function parseMinionEvent(load: SaltMap): MinionEventLoad {
  checkNames(load, '_minion_event');
  const id = needText(load, 'id', '_minion_event');
  const events = load.get('events');
  if (events === undefined) {
    const tag = needText(load, 'tag', '_minion_event');
    if (!load.has('data')) throw fieldError('_minion_event', 'data', 'there');
    return { kind: 'single', id, tag, load };
  }
  if (!Array.isArray(events)) throw fieldError('_minion_event', 'events', 'a list');
  const parsed: MinionEvent[] = [];
  let unfit = 0;
  for (const item of events) {
    if (!(item instanceof Map)) continue;
    const tag = item.get('tag');
    if (typeof tag !== 'string') continue;
    // A syndic forwards events of many minions: an invalid tag must not cost the other events.
    if (isName('tag', tag)) parsed.push({ tag, data: item.get('data') ?? item });
    else unfit += 1;
  }
  const pretag = optionalText(load, 'pretag', '_minion_event');
  return { kind: 'list', id, events: parsed, unfit, ...maybe('pretag', pretag) };
}

/** A `_minion_event` load of one event, as minions announce their start. */
export function buildMinionEvent(id: string, tag: string, data: SaltValue): SaltMap {
  return mapOf({ id, cmd: '_minion_event', pretag: null, data, tag });
}

/** A `_minion_event` load of several events, as syndics forward them. */
export function buildMinionEvents(
  id: string,
  events: readonly MinionEvent[],
  pretag: string | null,
): SaltMap {
  const list = events.map((event) => mapOf({ data: event.data, tag: event.tag }));
  return mapOf({ id, cmd: '_minion_event', pretag, events: list });
}
