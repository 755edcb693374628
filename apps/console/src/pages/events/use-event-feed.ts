import type { EventShown, StreamData } from '@brine/api';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { askEvents, eventsQuery } from '../../api/events.ts';
import { useTopic } from '../../live/use-live.ts';
import { eventsTopic } from '../../live/wanted-topics.ts';
import { eventTest } from '../../state/event-filter.ts';
import { EventFeed, ROWS_MAX } from './event-feed.ts';
import type { EventsSearch } from './events-search.ts';
import { hasReached } from './places-of-events.ts';

/** Where a list begins that does not name it. */
export const USUAL_FROM = '10m';
/** The stream has ten frames a second: the list shows them together, at this interval, ms. */
const SHOW_MS = 250;
/** Pages of one list, or of one replay: as many rows as a tab keeps. */
const PAGES_MAX = 10;

/** Events that the stream left out. */
export type Lag = StreamData['lag'];

/**
 * The events of a list: those that were stored, and those that come while it follows. Another
 * filter or begin is another list.
 */
export function useEventFeed(search: EventsSearch) {
  const { tag, minion, jid, kind, to, from = USUAL_FROM } = search;
  const filter = useMemo(
    () => definedOf({ tag, minion, jid, kind, to }),
    [tag, minion, jid, kind, to],
  );
  const isFollowing = search.follow === 'true' && to === undefined;
  const [feed] = useState(() => new EventFeed());
  const shown = useSyncExternalStore(
    useCallback((changed) => feed.watch(changed), [feed]),
    () => feed.shown,
  );
  const pages = useInfiniteQuery(eventsQuery(filter, from));
  const { data, hasNextPage, isFetching, isError, fetchNextPage } = pages;
  const isFull = (data?.pages.length ?? 0) >= PAGES_MAX;
  useEffect(() => {
    if (data !== undefined) feed.add(data.pages.flatMap(({ items }) => items));
  }, [feed, data]);
  // What comes from now on continues what is there already.
  useEffect(() => {
    if (isFollowing && hasNextPage && !isFetching && !isError && !isFull) void fetchNextPage();
  }, [isFollowing, hasNextPage, isFetching, isError, isFull, fetchNextPage]);
  const live = useLiveEvents(feed, filter, isFollowing ? eventsTopic(tag) : undefined);
  const asOf = data?.pages.at(-1)?.asOf;
  const { helloAt, replay } = live;
  const { mutate } = replay;
  // Between the end of the pages and the begin of the stream there may be events.
  useEffect(() => {
    if (helloAt === undefined || asOf === undefined || hasReached(asOf, helloAt)) return;
    if (!hasNextPage) mutate({ from: asOf, to: helloAt });
  }, [helloAt, asOf, hasNextPage, mutate]);
  const more = useCallback(() => {
    if (hasNextPage && !isFetching && !isFull) void fetchNextPage();
  }, [hasNextPage, isFetching, isFull, fetchNextPage]);
  return { feed, shown, pages, isFollowing, isFull, more, ...live };
}

function useLiveEvents(
  feed: EventFeed,
  filter: Readonly<Record<string, string>>,
  topic: string | undefined,
) {
  const begin = useRef<string>(undefined);
  const [helloAt, setHelloAt] = useState<string>();
  const [lag, setLag] = useState<Lag>();
  const [isReset, setReset] = useState(false);
  const isWanted = useMemo(() => eventTest(filter), [filter]);
  const show = useGathered(useCallback((events) => feed.take(events), [feed]));
  useTopic(topic, (message) => {
    if (message.event === 'events') show(message.data.filter(isWanted));
    else if (message.event === 'hello') setHelloAt((begin.current ??= message.data.position));
    else if (message.event === 'lag') setLag((before) => joined(before, message.data));
    else if (message.event === 'reset') setReset(message.data.position !== begin.current);
  });
  const replay = useMutation({
    mutationFn: async ({ from, to }: Pick<Lag, 'from' | 'to'>) => {
      let place: string | null = from;
      for (let n = 0; n < PAGES_MAX && place !== null && !hasReached(place, to); n += 1) {
        const page = await askEvents(filter, place);
        feed.add(page.items);
        place = page.next;
      }
      return { restFrom: place === null || hasReached(place, to) ? undefined : place };
    },
  });
  const forget = (): void => {
    setLag(undefined);
    setReset(false);
  };
  return { helloAt, lag, isReset, replay, forget };
}

/** Gives what comes in a short time together: each time costs a drawing of the list. */
function useGathered(take: (events: readonly EventShown[]) => void) {
  const gathered = useRef<readonly EventShown[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const give = (): void => {
    clearTimeout(timer.current);
    timer.current = undefined;
    const all = gathered.current;
    gathered.current = [];
    take(all);
  };
  return (events: readonly EventShown[]): void => {
    gathered.current = [...gathered.current, ...events];
    // Timers of a tab that is not seen are late.
    if (gathered.current.length >= ROWS_MAX) give();
    else if (gathered.current.length > 0) timer.current ??= setTimeout(give, SHOW_MS);
  };
}

/** Two gaps as one: what is between them is there, and is not taken twice. */
function joined(before: Lag | undefined, { dropped, from, to }: Lag): Lag {
  if (before === undefined) return { dropped, from, to };
  const both = before.dropped === null || dropped === null ? null : before.dropped + dropped;
  return { dropped: both, from: before.from, to };
}

function definedOf(
  given: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(given).filter((one): one is [string, string] => one[1] !== undefined),
  );
}
