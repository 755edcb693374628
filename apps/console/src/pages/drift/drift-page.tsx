import type { DriftShown } from '@brine/api/fleet';
import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { driftPages } from '../../api/drift.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { Given } from '../../parts/given.tsx';
import { Grid, type GridColumn } from '../../parts/grid/grid.tsx';
import { useMore } from '../../parts/grid/use-more.ts';
import { PageLink } from '../../parts/page-link.tsx';
import { Empty, Sourced } from '../../parts/panel.tsx';
import { When } from '../../parts/when.tsx';
import { useSettings } from '../../state/settings.ts';
import { type ShellLine } from '../../state/shell-word.ts';
import { DriftFilter } from './drift-filter.tsx';
import { DriftSign } from './drift-signs.tsx';
import { highstateOn, TARGETS_MAX } from './highstate.ts';

const NUMBER = new Intl.NumberFormat('en');

const COLUMNS: readonly GridColumn<DriftShown>[] = [
  { id: 'id', title: 'Minion', width: 'minmax(8rem, 2fr)', sort: 'id', cell: Id },
  { id: 'state', title: 'State', width: '8rem', cell: ({ state }) => <DriftSign state={state} /> },
  {
    id: 'run',
    title: 'Last run',
    width: '10rem',
    sort: 'stateRun',
    cell: ({ stateRun }) => <Run run={stateRun} />,
  },
  {
    id: 'test',
    title: 'Last dry run',
    width: '10rem',
    sort: 'testRun',
    isWide: true,
    cell: ({ testRun }) => <Run run={testRun} />,
  },
  {
    id: 'would',
    title: 'Would change',
    width: '8rem',
    sort: 'would',
    isWide: true,
    cell: ({ testRun }) => {
      const would = testRun?.would ?? undefined;
      return would === undefined ? '–' : `${NUMBER.format(would)} states`;
    },
  },
];

function Id({ id }: DriftShown) {
  return <Given text={id} />;
}

function Run({ run }: { readonly run: { readonly at: string; readonly result: string } | null }) {
  if (run === null) return <>–</>;
  return (
    <>
      <When time={run.at} />
      {run.result === 'failed' && ', failed'}
    </>
  );
}

const route = getRouteApi('/drift');

/** Which minions are not in their state? */
export function DriftPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { settings } = useSettings();
  const minions = useInfiniteQuery(driftPages(search));
  const rows = useMemo(
    () => minions.data?.pages.flatMap(({ items }) => items) ?? [],
    [minions.data],
  );
  const { onRange } = useMore(minions, rows.length);
  const selection = useChosen();
  const first = minions.data?.pages[0];
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Drift</Title>
        <Group>
          <Chosen ids={selection.ids} onNone={selection.none} />
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => void minions.refetch()}
            loading={minions.isRefetching}
          >
            Ask again
          </Button>
          <CopyMenu path="/drift" query={search} command={commandOf(selection.ids, rows)} />
        </Group>
      </Group>
      <Text size="sm" c="dimmed">
        As the last runs of states returned. No minion is asked, no job is sent.
      </Text>
      <DriftFilter
        search={search}
        facets={first?.facets}
        onChange={(next) => void navigate({ search: next, replace: true })}
      />
      <Sourced source={minions}>
        {first !== undefined && first.total === 0 ? (
          <Empty command="salt '*' state.apply test=True">
            No minion is like this. What a dry run would change comes here:
          </Empty>
        ) : (
          <Grid
            label="Minions by their states"
            columns={COLUMNS}
            total={first?.total ?? 0}
            rowAt={(index) => rows[index]}
            keyOf={({ id }) => id}
            onOpen={(minion) => {
              const jid = newerRun(minion);
              if (jid !== undefined) void navigate({ to: '/jobs/$jid', params: { jid } });
            }}
            onRange={onRange}
            sort={search.sort ?? 'id'}
            onSort={(sort) => void navigate({ search: { ...search, sort }, replace: true })}
            selection={selection}
            density={settings.density}
            height="max(16rem, calc(100vh - 16rem))"
          />
        )}
      </Sourced>
    </Stack>
  );
}

/** A dry run on the chosen minions, or on those that are listed. */
function commandOf(chosen: readonly string[], rows: readonly DriftShown[]): ShellLine {
  return highstateOn(chosen.length > 0 ? chosen : rows.map(({ id }) => id)).command;
}

/** The job by which a minion has its state. */
function newerRun({ stateRun, testRun }: DriftShown): string | undefined {
  if (stateRun === null || testRun === null) return (stateRun ?? testRun)?.jid;
  return stateRun.at > testRun.at ? stateRun.jid : testRun.jid;
}

function useChosen() {
  const [ids, setIds] = useState<readonly string[]>([]);
  const toggle = (id: string): void =>
    setIds((old) => (old.includes(id) ? old.filter((one) => one !== id) : [...old, id]));
  return { ids, has: (id: string) => ids.includes(id), toggle, none: () => setIds([]) };
}

interface ChosenProps {
  readonly ids: readonly string[];
  readonly onNone: () => void;
}

/** What one may do with the chosen minions. */
function Chosen({ ids, onNone }: ChosenProps) {
  if (ids.length === 0) return <Text size="sm">Choose minions for a dry run</Text>;
  if (ids.length > TARGETS_MAX) {
    return <Text size="sm">{`At most ${NUMBER.format(TARGETS_MAX)} minions in one target`}</Text>;
  }
  return (
    <Group gap="xs">
      <PageLink path="/run" search={highstateOn(ids).search}>
        {`Dry run of the highstate on these ${NUMBER.format(ids.length)}`}
      </PageLink>
      <Button size="compact-sm" variant="subtle" onClick={onNone}>
        None
      </Button>
    </Group>
  );
}
