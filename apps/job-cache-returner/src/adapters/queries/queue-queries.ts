import type { JobCache } from '@brine/job-cache';
import type { SaltMap, SaltValue } from '@brine/wire';
import { intOf, listOf, mapOf, textOf } from '@brine/wire';

type Query = (cache: JobCache, request: SaltMap) => Promise<SaltValue>;

/** The acts of the runner `queue`, by the field `act`. */
const ACTS: Readonly<Record<string, Query>> = {
  put: async (cache, request) =>
    cache.queues.put(nameOf(request), itemsOf(request), needText(request, 'by')),
  remove: async (cache, request) => {
    await cache.queues.remove(nameOf(request), itemsOf(request));
    return true;
  },
  names: (cache, request) => cache.queues.names(needText(request, 'backend')),
  length: (cache, request) => cache.queues.length(nameOf(request)),
  items: async (cache, request) => {
    const page = await cache.queues.items(nameOf(request), intOf(request, 'after') ?? 0);
    return mapOf({ items: [...page.items], next: page.next ?? null });
  },
  take: (cache, request) =>
    cache.queues.take(nameOf(request), intOf(request, 'quantity') ?? 0, needText(request, 'by')),
};

/** The queues of the runner `queue`: `queue`. */
export const QUEUE_QUERIES: readonly (readonly [string, Query])[] = [
  [
    'queue',
    async (cache, request) => {
      const act = needText(request, 'act');
      const query = Object.hasOwn(ACTS, act) ? ACTS[act] : undefined;
      if (query === undefined) throw new RangeError(`a queue does not know ${act}`);
      return query(cache, request);
    },
  ],
];

function nameOf(request: SaltMap) {
  return { backend: needText(request, 'backend'), queue: needText(request, 'queue') };
}

/** `[[json, sameness]]`. */
function itemsOf(request: SaltMap) {
  return (listOf(request, 'items') ?? []).map((pair) => {
    const [json, sameness] = Array.isArray(pair) ? pair : [];
    if (typeof json !== 'string' || typeof sameness !== 'string') {
      throw new RangeError('an item is two texts');
    }
    return { json, sameness };
  });
}

function needText(request: SaltMap, name: string): string {
  const text = textOf(request, name);
  if (text === undefined) throw new RangeError(`a question about queues needs ${name}`);
  return text;
}
