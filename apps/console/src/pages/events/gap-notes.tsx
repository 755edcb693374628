import { Alert, Button, Group, Text } from '@mantine/core';
import { PageLink } from '../../parts/page-link.tsx';
import type { EventsSearch } from './events-search.ts';
import type { useEventFeed } from './use-event-feed.ts';

const NUMBER = new Intl.NumberFormat('en');

type Feed = Pick<ReturnType<typeof useEventFeed>, 'lag' | 'isReset' | 'replay' | 'forget'>;

interface GapNotesProps extends Feed {
  readonly search: EventsSearch;
  readonly onReload: () => void;
}

/** What the stream left out, and how to get it. */
export function GapNotes({ search, lag, isReset, replay, forget, onReload }: GapNotesProps) {
  const restFrom = replay.data?.restFrom;
  return (
    <>
      {lag !== undefined && (
        <Note
          text={
            lag.dropped === null
              ? 'Events were dropped while this tab was slow'
              : `${NUMBER.format(lag.dropped)} events were dropped while this tab was slow`
          }
          act="Replay them"
          isBusy={replay.isPending}
          onAct={() => replay.mutate(lag, { onSuccess: forget })}
        />
      )}
      {isReset && (
        <Note
          text="The place of the stream is not kept any more: events may be missing here"
          act="Load again"
          isBusy={false}
          onAct={() => {
            forget();
            onReload();
          }}
        />
      )}
      {replay.error !== null && (
        <Alert color="orange" role="status" p="xs">
          {`Not replayed: ${replay.error.message}`}
        </Alert>
      )}
      {restFrom !== undefined && (
        <Alert color="orange" role="status" p="xs">
          <Text size="sm">
            There were more than fit here.{' '}
            <PageLink path="/events" search={{ ...definedOf(search), from: restFrom, follow: '' }}>
              Continue where the replay ended
            </PageLink>
          </Text>
        </Alert>
      )}
    </>
  );
}

function definedOf(search: EventsSearch): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(search).filter((one): one is [string, string] => typeof one[1] === 'string'),
  );
}

interface NoteProps {
  readonly text: string;
  readonly act: string;
  readonly isBusy: boolean;
  readonly onAct: () => void;
}

function Note({ text, act, isBusy, onAct }: NoteProps) {
  return (
    <Alert color="orange" role="status" p="xs">
      <Group justify="space-between">
        <Text size="sm">
          <span aria-hidden>⚠</span> {text}
        </Text>
        <Button size="compact-sm" variant="default" loading={isBusy} onClick={onAct}>
          {act}
        </Button>
      </Group>
    </Alert>
  );
}
