import type { Events } from '@brine/api';
import type { Job } from '@brine/api/jobs';
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { jobEventsQuery } from '../../../api/job.ts';
import { CopyMenu } from '../../../parts/copy-menu.tsx';
import { Given } from '../../../parts/given.tsx';
import { GivenLines } from '../../../parts/given.tsx';
import { Empty, Sourced } from '../../../parts/panel.tsx';
import { shellLine } from '../../../state/shell-word.ts';
import { duration } from '../../../state/times.ts';
import { returnText } from '../answers/return-text.ts';
import { Scrolled } from '../answers/return-view.tsx';
import { useJobSearch } from '../use-job-search.ts';
import classes from './job-events.module.css';

/** The events of a job, oldest first. */
export function JobEvents({ job: { jid, published } }: { readonly job: Job }) {
  const query = { jid, from: published };
  const events = useInfiniteQuery(jobEventsQuery(jid, published));
  const items = useMemo(
    () => events.data?.pages.flatMap((page) => page.items) ?? [],
    [events.data],
  );
  const notices = [...new Set(events.data?.pages.flatMap((page) => page.notices) ?? [])];
  const { hasNextPage, isFetching, fetchNextPage, refetch } = events;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Button
          size="compact-sm"
          variant="default"
          loading={isFetching}
          onClick={() => void refetch()}
        >
          Ask again
        </Button>
        <CopyMenu
          path="/events"
          query={query}
          command={shellLine('brine', 'events', '--jid', jid)}
        />
      </Group>
      <Sourced source={events}>
        {notices.map((notice) => (
          <Alert key={notice} color="gray" p="xs">
            <Given text={notice} />
          </Alert>
        ))}
        {items.length === 0 && !hasNextPage && (
          <Empty>Events of this job are not kept any more, or you may not see them.</Empty>
        )}
        <ol className={classes['events']} aria-label="Events">
          {items.map((event) => (
            <EventRow key={event.position} event={event} published={published} />
          ))}
        </ol>
        {hasNextPage && (
          <Button variant="default" loading={isFetching} onClick={() => void fetchNextPage()}>
            More events
          </Button>
        )}
      </Sourced>
    </Stack>
  );
}

interface EventRowProps {
  readonly event: Events['items'][number];
  readonly published: string;
}

function EventRow({ event, published }: EventRowProps) {
  const { change } = useJobSearch();
  const { tag, at, minion, data, size } = event;
  return (
    <li>
      <details>
        <summary>
          <span className="number">
            +{duration(Math.max(0, Date.parse(at) - Date.parse(published)))}
          </span>{' '}
          <Given text={tag} />
        </summary>
        {data === undefined ? (
          <Text size="sm">
            The body has {size ?? 0} bytes.{' '}
            {minion !== undefined && (
              <Button size="compact-xs" variant="default" onClick={() => change({ open: minion })}>
                Show the return
              </Button>
            )}
          </Text>
        ) : (
          <Scrolled label="Body of the event" isShort>
            <GivenLines text={returnText(data)} />
          </Scrolled>
        )}
      </details>
    </li>
  );
}
