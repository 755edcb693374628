import type { Bus } from '@brine/bus';
import type { MasterRequests } from '../clients/master-requests.ts';
import { Places, SEARCH_PLACES } from '../places.ts';
import { EventSearch } from './event-search.ts';
import { Followers } from './followers.ts';
import { LiveEvents } from './live-events.ts';
import { OwnJobs } from './own-jobs.ts';
import { Principals } from './sight.ts';

/** What reads events, for calls, for followers and for pages. */
export interface LiveParts {
  readonly live: LiveEvents;
  readonly followers: Followers;
  readonly principals: Principals;
  /** Begins to read events for followers, if nothing does yet. */
  readonly begin: () => Promise<void>;
  /** Places of searches through stored events. */
  readonly searches: Places;
  readonly events: EventSearch;
}

/** Makes the readers of events; none reads yet. */
export function makeLiveParts(
  bus: Bus,
  requests: MasterRequests,
  onTrouble: (text: string, error: unknown) => void,
): LiveParts {
  const live = new LiveEvents(bus, onTrouble);
  const followers = new Followers();
  const principals = new Principals();
  const begin = onceBegun(() =>
    live.listen((event) => {
      principals.note(event);
      followers.take(event);
    }),
  );
  const searches = new Places(SEARCH_PLACES);
  const events = new EventSearch(bus, principals, new OwnJobs(requests, principals));
  return { live, followers, principals, begin, searches, events };
}

/** Begins something at the first call, and at the next one if that failed. */
function onceBegun(begin: () => Promise<unknown>): () => Promise<void> {
  let begun: Promise<unknown> | undefined;
  return async () => {
    begun ??= begin();
    try {
      await begun;
    } catch (error) {
      begun = undefined;
      throw error;
    }
  };
}
