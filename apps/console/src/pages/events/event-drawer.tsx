import type { EventShown } from '@brine/api';
import { Anchor, Drawer, Group, Stack, Table, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { addressOf } from '../../api/ask.ts';
import { eventPath, eventQuery } from '../../api/events.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { Given, GivenLines } from '../../parts/given.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { Sourced } from '../../parts/panel.tsx';
import { When } from '../../parts/when.tsx';

interface EventDrawerProps {
  readonly position: string;
  readonly stream: string;
  readonly onClose: () => void;
}

/** One event with its whole body. */
export function EventDrawer({ position, stream, onClose }: EventDrawerProps) {
  const event = useQuery(eventQuery(position, stream));
  const { data } = event;
  return (
    <Drawer opened onClose={onClose} position="right" size="lg" title="Event">
      <Stack gap="sm">
        <Group justify="space-between">
          <Title order={2} size="h4">
            <Given text={data?.tag ?? position} max={1_000} />
          </Title>
          <CopyMenu path={eventPath(position)} query={{ stream }} />
        </Group>
        <Sourced source={event}>
          {data !== undefined && (
            <>
              <Facts event={data} />
              <GivenLines text={JSON.stringify(data.data ?? null, undefined, 2)} />
              <Anchor
                size="sm"
                href={addressOf(eventPath(position), { stream })}
                target="_blank"
                rel="noreferrer"
              >
                All of it, as JSON
              </Anchor>
            </>
          )}
        </Sourced>
      </Stack>
    </Drawer>
  );
}

/** What is known of an event besides its body. */
function Facts({ event: { at, kind, jid, minion, position } }: { readonly event: EventShown }) {
  const rows: readonly (readonly [string, ReactNode])[] = [
    [
      'When',
      <>
        {at.replace('T', ' ').replace('Z', ' UTC')}, <When time={at} />
      </>,
    ],
    ['Kind', kind],
    ['Job', jid === undefined ? undefined : <JobLink jid={jid} />],
    ['Minion', minion === undefined ? undefined : <Given text={minion} />],
    [
      'Position',
      <PageLink path="/events" search={{ from: position }}>
        {position}
      </PageLink>,
    ],
  ];
  return (
    <Table aria-label="The event" variant="vertical">
      <Table.Tbody>
        {rows
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th w="8rem">{name}</Table.Th>
              <Table.Td>{value}</Table.Td>
            </Table.Tr>
          ))}
      </Table.Tbody>
    </Table>
  );
}

function JobLink({ jid }: { readonly jid: string }) {
  return (
    <PageLink path={`/jobs/${encodeURIComponent(jid)}`}>
      <Given text={jid} />
    </PageLink>
  );
}
