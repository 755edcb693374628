import type { ReactionFailures } from '@brine/api/runs';
import { Group, Text } from '@mantine/core';
import { Given } from '../../parts/given.tsx';
import { Grid, type GridColumn } from '../../parts/grid/grid.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { Empty } from '../../parts/panel.tsx';
import { When } from '../../parts/when.tsx';
import { useSettings } from '../../state/settings.ts';

type Failure = ReactionFailures['items'][number];

/** Events around a failure are shown from this long before it, ms. */
const BEFORE_MS = 60_000;

const COLUMNS: readonly GridColumn<Failure>[] = [
  { id: 'at', title: 'When', width: '8rem', cell: ({ at }) => <When time={at} /> },
  {
    id: 'what',
    title: 'File',
    width: 'minmax(8rem, 2fr)',
    cell: ({ what }) => (what === '' ? 'all of it' : <Given text={what} />),
  },
  {
    id: 'why',
    title: 'Why',
    width: 'minmax(10rem, 4fr)',
    cell: ({ kind, why }) => (
      <>
        <Text span size="sm" fw={600}>
          <span aria-hidden>✖</span> <Given text={kind} />
        </Text>{' '}
        <Given text={why} max={2_000} />
      </>
    ),
  },
  {
    id: 'tag',
    title: 'Tag',
    width: 'minmax(8rem, 2fr)',
    isWide: true,
    cell: ({ tag, at }) => (
      <PageLink path="/events" search={{ tag, from: before(at) }}>
        <Given text={tag} />
      </PageLink>
    ),
  },
];

function before(time: string): string {
  return new Date(Date.parse(time) - BEFORE_MS).toISOString();
}

interface FailuresProps {
  readonly items: readonly Failure[];
  readonly tag: string | undefined;
}

/** Reactions that failed, with their files and reasons. */
export function Failures({ items, tag }: FailuresProps) {
  const { settings } = useSettings();
  if (items.length === 0) {
    return (
      <Empty command="salt-run reactor.failed">
        {tag === undefined
          ? 'No reaction has failed. What fails comes here, with its file and the reason:'
          : 'No failed reaction has such a tag:'}
      </Empty>
    );
  }
  return (
    <Group grow>
      <Grid
        label="Failed reactions"
        columns={COLUMNS}
        total={items.length}
        rowAt={(index) => items[index]}
        keyOf={({ id, at, what }) => `${id} ${at} ${what}`}
        density={settings.density}
        height="45vh"
      />
    </Group>
  );
}
