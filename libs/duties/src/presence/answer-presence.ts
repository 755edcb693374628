import { MasterUnavailableError } from '@brine/master';
import type { Presence } from '@brine/presence';
import { isMap, listOf, mapOf, type SaltMap, type SaltValue } from '@brine/wire';

/**
 * Answers a question: `{of: [ids]}` by id, any other with the present ids.
 * @throws MasterUnavailableError while no publisher has reported its connections
 */
export function answerPresence(presence: Presence, question: SaltValue): SaltMap {
  const { publishers, present } = presence.stats();
  if (publishers === 0 && present === 0) {
    throw new MasterUnavailableError('no publisher has reported its connections');
  }
  const ids = isMap(question) ? listOf(question, 'of') : undefined;
  const answer: SaltMap = new Map();
  if (ids === undefined) {
    for (const id of presence.ids()) {
      const known = presence.known(id);
      if (known?.present === true) answer.set(id, known.address);
    }
    return answer;
  }
  for (const id of ids) {
    const known = typeof id === 'string' ? presence.known(id) : undefined;
    if (known === undefined) continue;
    const { present, sinceMs, goneMs, address, evidence } = known;
    const times = { sinceMs: Math.round(sinceMs), goneMs: Math.round(goneMs) };
    answer.set(id, mapOf({ present, ...times, address, evidence }));
  }
  return answer;
}
