import type { EventShown } from '@brine/api';
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { Grid } from '../../parts/grid/grid.tsx';
import { Empty, Sourced } from '../../parts/panel.tsx';
import { When } from '../../parts/when.tsx';
import { useSettings } from '../../state/settings.ts';
import { EVENT_COLUMNS } from './event-columns.tsx';
import { ROWS_MAX } from './event-feed.ts';
import { EventHistogram } from './event-histogram.tsx';
import type { EventsSearch } from './events-search.ts';
import { GapNotes } from './gap-notes.tsx';
import { eventKey } from './places-of-events.ts';
import { useEventFeed } from './use-event-feed.ts';

const NUMBER = new Intl.NumberFormat('en');

interface EventListProps {
  readonly search: EventsSearch;
  readonly onChange: (search: EventsSearch) => void;
  readonly onOpen: (event: EventShown) => void;
}

/** The events of one filter. */
export function EventList({ search, onChange, onOpen }: EventListProps) {
  const list = useEventFeed(search);
  const { feed, shown, pages, isFollowing } = list;
  const { settings } = useSettings();
  const pause = usePause(feed);
  const { rows } = shown;
  const isMore = pages.hasNextPage && !list.isFull;
  return (
    <Stack gap="sm">
      <GapNotes {...list} search={search} onReload={() => void pages.refetch()} />
      <Notices pages={pages.data?.pages ?? []} />
      <EventHistogram
        rows={rows}
        onChoose={(range) => onChange({ ...search, ...range, follow: '' })}
      />
      <Sourced source={pages}>
        {rows.length === 0 && !pages.hasNextPage ? (
          <Empty command="salt '*' test.ping">
            {isFollowing ? 'Events come here as they happen. ' : 'Nothing like this happened. '}A
            command makes some:
          </Empty>
        ) : (
          <div
            onPointerEnter={() => pause.point(true)}
            onPointerLeave={() => pause.point(false)}
            onFocus={({ target }) => pause.focus(target.matches(':focus-visible'))}
            onBlur={() => pause.focus(false)}
          >
            <Grid
              label="Events"
              columns={EVENT_COLUMNS}
              total={rows.length + (isMore ? 1 : 0)}
              rowAt={(index) => rows[index]}
              keyOf={eventKey}
              onOpen={onOpen}
              onRange={(_first, last) => {
                if (last >= rows.length) list.more();
              }}
              isAtEnd={isFollowing && !pause.isPaused}
              onAtEnd={pause.scroll}
              density={settings.density}
              height="max(16rem, calc(100vh - 22rem))"
            />
          </div>
        )}
      </Sourced>
      <Group justify="space-between">
        <End list={list} search={search} onChange={onChange} />
        {isFollowing && (
          <Text size="sm" role="status">
            {pause.isPaused
              ? `Paused while you look: ${NUMBER.format(shown.waits)} wait`
              : 'Follows'}
          </Text>
        )}
        {isFollowing && pause.isBack && shown.waits > 0 && (
          <Button size="compact-sm" onClick={pause.end}>
            {`Show ${NUMBER.format(shown.waits)} new`}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

type List = ReturnType<typeof useEventFeed>;

const MOVING = { isPointed: false, isFocused: false, isBack: false };

/** Rows do not move under the pointer or the keys, nor while one looks at earlier ones. */
function usePause(feed: List['feed']) {
  const [why, setWhy] = useState(MOVING);
  const isPaused = Object.values(why).includes(true);
  useEffect(() => feed.pause(isPaused), [feed, isPaused]);
  const set = (part: Partial<typeof MOVING>): void => setWhy((old) => ({ ...old, ...part }));
  return {
    isPaused,
    isBack: why.isBack,
    point: (isPointed: boolean) => set({ isPointed }),
    focus: (isFocused: boolean) => set({ isFocused }),
    scroll: (isAtEnd: boolean) => set({ isBack: !isAtEnd }),
    end: () => setWhy(MOVING),
  };
}

/** Sentences of the API about what may be missing. */
function Notices({
  pages,
}: {
  readonly pages: readonly { readonly notices: readonly string[] }[];
}) {
  const notices = [...new Set(pages.flatMap((page) => page.notices))];
  return notices.map((notice) => (
    <Alert key={notice} color="orange" role="status" p="xs">
      {notice}
    </Alert>
  ));
}

interface EndProps {
  readonly list: List;
  readonly search: EventsSearch;
  readonly onChange: (search: EventsSearch) => void;
}

/** How far the list goes, and how to continue. */
function End({ list: { pages, isFull, isFollowing, shown }, search, onChange }: EndProps) {
  const last = pages.data?.pages.at(-1);
  if (last === undefined) return null;
  const { next } = last;
  if (isFull && next !== null) {
    return (
      <Group gap="xs">
        <Text size="sm">{`A list has ${NUMBER.format(ROWS_MAX)} events at most.`}</Text>
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => onChange({ ...search, from: next, follow: '' })}
        >
          Continue after them
        </Button>
        {isFollowing && (
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => onChange({ ...search, from: 'now' })}
          >
            Follow from now on
          </Button>
        )}
      </Group>
    );
  }
  return (
    <Group gap="xs">
      <Text size="sm" c="dimmed">
        {`${NUMBER.format(shown.rows.length)} events`}
        {shown.forgotten > 0 && `, ${NUMBER.format(shown.forgotten)} earlier ones made room`}
      </Text>
      {!isFollowing && next === null && (
        <>
          <Text size="sm" c="dimmed">
            All that happened until <When time={new Date(pages.dataUpdatedAt).toISOString()} />
          </Text>
          <Button size="compact-sm" variant="default" onClick={() => void pages.refetch()}>
            Ask again
          </Button>
        </>
      )}
    </Group>
  );
}
