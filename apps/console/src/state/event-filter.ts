import type { EventShown } from '@brine/api';
import { globTest } from './glob.ts';

/** Which events one wants to see. */
export interface EventFilter {
  readonly tag?: string;
  readonly minion?: string;
  readonly jid?: string;
  readonly kind?: string;
}

/**
 * Tests events as `/v1/events` does. The stream of a browser may have events that other tabs asked
 * for: each tab takes its own.
 */
export function eventTest({ tag, minion, jid, kind }: EventFilter) {
  const isTag = tag === undefined ? () => true : globTest(tag);
  const isMinion = minion === undefined ? () => true : globTest(minion);
  return (event: Pick<EventShown, 'tag' | 'minion' | 'jid' | 'kind'>): boolean => {
    if (kind !== undefined && event.kind !== kind) return false;
    if (jid !== undefined && event.jid !== jid && !event.tag.split('/').includes(jid)) return false;
    return isMinion(event.minion ?? '') && isTag(event.tag);
  };
}
