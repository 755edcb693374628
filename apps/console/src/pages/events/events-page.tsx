import { Group, Stack, Title } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { type ShellLine, shellLine } from '../../state/shell-word.ts';
import { EventDrawer } from './event-drawer.tsx';
import { EventList } from './event-list.tsx';
import { EventsFilter } from './events-filter.tsx';
import type { EventsSearch } from './events-search.ts';
import { streamOf } from './places-of-events.ts';

const route = getRouteApi('/events');

/** What happened at 02:13? */
export function EventsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { open, stream = 'events', follow, ...asked } = search;
  const change = (next: EventsSearch): void => void navigate({ search: next, replace: true });
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Events</Title>
        <CopyMenu path="/events" query={asked} command={commandOf(asked.tag)} />
      </Group>
      <EventsFilter search={search} onChange={change} />
      <EventList
        key={JSON.stringify([asked, follow])}
        search={search}
        onChange={change}
        onOpen={(event) =>
          void navigate({ search: { ...search, open: event.position, stream: streamOf(event) } })
        }
      />
      {open !== undefined && (
        <EventDrawer
          position={open}
          stream={stream}
          onClose={() => void navigate({ search: { ...asked, ...(follow ? { follow } : {}) } })}
        />
      )}
    </Stack>
  );
}

/** The same on the command line follows from now on. */
function commandOf(tag = '*'): ShellLine {
  return shellLine('salt-run', 'state.event', tag, 'pretty=True');
}
