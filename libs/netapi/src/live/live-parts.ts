import type { Bus } from '@brine/bus';
import type { MasterRequests } from '../clients/master-requests.ts';
import type { FleetFeed } from '../fleet/fleet-feed.ts';
import type { FleetSights } from '../fleet/fleet-sights.ts';
import { Places, SEARCH_PLACES } from '../places.ts';
import type { ApiCaller } from '../sessions/callers.ts';
import { EVENT_TOPIC } from '../stream/event-topic.ts';
import { minionsTopic } from '../stream/fleet-window.ts';
import { JobCounts } from '../stream/job-counts.ts';
import { jobsTopic, jobTopic } from '../stream/job-topics.ts';
import { LiveViews } from '../stream/live-views.ts';
import { overviewTopic } from '../stream/overview-topic.ts';
import { Replays } from '../stream/replays.ts';
import { Streams } from '../stream/streams.ts';
import type { TopicSources } from '../stream/topic.ts';
import { EventSearch } from './event-search.ts';
import { Followers } from './followers.ts';
import type { LiveEvents } from './live-events.ts';
import { OwnJobs } from './own-jobs.ts';
import { Principals, type Sight, sightOf } from './sight.ts';

/** What reads events, for calls, for followers and for pages. */
export interface LiveParts {
  readonly followers: Followers;
  readonly principals: Principals;
  /** Begins to read events for followers, if nothing does yet. */
  readonly begin: () => Promise<void>;
  /** Places of searches through stored events. */
  readonly searches: Places;
  readonly events: EventSearch;
  /** What a caller may see now. */
  readonly sight: (caller: ApiCaller, peer: string) => Sight;
  readonly streams: Streams;
  readonly replays: Replays;
  /** What a stream may be asked for; more kinds are added here. */
  readonly topics: TopicSources;
  /** Ends streams of events. */
  readonly close: () => void;
}

/** What the readers of events are made of. */
export interface LiveSources {
  readonly bus: Bus;
  readonly live: Pick<LiveEvents, 'listen' | 'isEven' | 'close'>;
  readonly requests: Pick<MasterRequests, 'ask'>;
  readonly fleet: Pick<FleetFeed, 'whole' | 'index'>;
  readonly sights: FleetSights;
  readonly onTrouble: (text: string, error: unknown) => void;
}

/** Makes the readers of events; none reads yet. */
export function makeLiveParts(sources: LiveSources): LiveParts {
  const { bus, live, requests, fleet, sights, onTrouble } = sources;
  const followers = new Followers();
  const principals = new Principals();
  const jobs = new JobCounts();
  const begin = onceBegun(() =>
    live.listen(
      (event) => {
        principals.note(event);
        jobs.note(event);
        followers.take(event);
      },
      {
        begin: (position) => followers.recent.begin(position),
        gap: (position) => followers.reset(position),
      },
    ),
  );
  const searches = new Places(SEARCH_PLACES);
  const own = new OwnJobs(requests, principals);
  const events = new EventSearch(bus, principals, own);
  const sight = (caller: ApiCaller, peer: string): Sight =>
    sightOf(caller.reader, principals, (some) => own.learn(caller, peer, some));
  const replays = new Replays({ bus, live, followers, principals, onTrouble });
  const streams = new Streams({ followers, replays });
  const views = new LiveViews(onTrouble);
  const topics: TopicSources = new Map([
    ['events', EVENT_TOPIC],
    ['jobs', jobsTopic(jobs)],
    ['job', jobTopic(jobs)],
    ['minions', minionsTopic({ views, fleet, sights })],
    ['overview', overviewTopic({ views, fleet, sights })],
  ]);
  const close = (): void => {
    streams.close();
    followers.close();
    views.close();
    live.close();
  };
  return { followers, principals, begin, searches, events, sight, streams, replays, topics, close };
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
