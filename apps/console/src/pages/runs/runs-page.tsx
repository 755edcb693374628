import type { RunsPage as Page } from '@brine/api/runs';
import { Button, Group, SegmentedControl, Stack, Switch, Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import { runsQuery } from '../../api/runs.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { FilterText } from '../../parts/filter-text.tsx';
import { Given } from '../../parts/given.tsx';
import { Grid, type GridColumn } from '../../parts/grid/grid.tsx';
import { useMore } from '../../parts/grid/use-more.ts';
import { Empty, Sourced } from '../../parts/panel.tsx';
import { When } from '../../parts/when.tsx';
import { timeOfJid } from '../../state/run/jid-time.ts';
import { useSettings } from '../../state/settings.ts';
import { shellLine } from '../../state/shell-word.ts';
import { useLiveRuns } from './live-runs.ts';
import { RunState } from './run-state.tsx';
import type { RunsSearch } from './runs-search.ts';

type Run = Page['items'][number];

const ORCHESTRATIONS = 'state.orch*';

const COLUMNS: readonly GridColumn<Run>[] = [
  { id: 'at', title: 'Began', width: '8rem', cell: ({ jid }) => <When time={timeOfJid(jid)} /> },
  { id: 'state', title: 'State', width: '8rem', cell: (run) => <RunState run={run} /> },
  {
    id: 'fun',
    title: 'Function',
    width: 'minmax(8rem, 3fr)',
    cell: ({ fun }) => <Given text={fun} />,
  },
  { id: 'client', title: 'Kind', width: '6rem', isWide: true, cell: ({ client }) => client },
  {
    id: 'user',
    title: 'User',
    width: 'minmax(5rem, 1fr)',
    isWide: true,
    cell: ({ user }) => <Given text={user} />,
  },
  {
    id: 'jid',
    title: 'Job id',
    width: '12rem',
    isWide: true,
    cell: ({ jid }) => <Given text={jid} />,
  },
];

const route = getRouteApi('/runs');

/** What did the master itself run? */
export function RunsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { settings } = useSettings();
  const runs = useInfiniteQuery(runsQuery(search));
  const rows = useMemo(() => runs.data?.pages.flatMap(({ items }) => items) ?? [], [runs.data]);
  const { began, show } = useLiveRuns(search);
  const { total, onRange } = useMore(runs, rows.length);
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Runs</Title>
        <Group>
          {began > 0 && (
            <Button size="compact-sm" onClick={show}>
              {`Show ${began} new`}
            </Button>
          )}
          <CopyMenu path="/runs" query={search} command={shellLine('salt-run', 'jobs.list_jobs')} />
        </Group>
      </Group>
      <RunsFilter
        search={search}
        onChange={(next) => void navigate({ search: next, replace: true })}
      />
      <Sourced source={runs}>
        {total === 0 ? (
          <Empty command="salt-run manage.status">No run is like this. A runner makes one:</Empty>
        ) : (
          <Grid
            label="Runs"
            columns={COLUMNS}
            total={total}
            rowAt={(index) => rows[index]}
            keyOf={({ jid }) => jid}
            onOpen={({ jid }) => void navigate({ to: '/runs/$jid', params: { jid } })}
            onRange={onRange}
            density={settings.density}
            height="calc(100vh - 14rem)"
          />
        )}
      </Sourced>
    </Stack>
  );
}

interface RunsFilterProps {
  readonly search: RunsSearch;
  readonly onChange: (search: RunsSearch) => void;
}

const TEXTS = [
  { name: 'fun', label: 'Function', example: 'manage.*' },
  { name: 'user', label: 'User', example: '' },
] as const;

/** Chooses runs; each choice is in the address. */
function RunsFilter({ search, onChange }: RunsFilterProps) {
  const change = (part: RunsSearch): void => onChange({ ...search, ...part });
  const isOrchestration = search.fun === ORCHESTRATIONS;
  return (
    <Group gap="sm" align="end">
      <SegmentedControl
        aria-label="Which runs"
        size="xs"
        value={search.client ?? 'all'}
        data={[
          { value: 'all', label: 'All' },
          { value: 'runner', label: 'Runners' },
          { value: 'wheel', label: 'Wheels' },
        ]}
        onChange={(value) => change({ client: value === 'all' ? '' : value })}
      />
      {TEXTS.map(({ name, label, example }) => (
        <FilterText
          key={name}
          w={150}
          label={label}
          placeholder={example}
          value={search[name]}
          onChange={(text) => change({ [name]: text })}
        />
      ))}
      <Switch
        size="sm"
        label="Orchestrations alone"
        checked={isOrchestration}
        onChange={({ currentTarget }) =>
          change({ fun: currentTarget.checked ? ORCHESTRATIONS : '' })
        }
      />
    </Group>
  );
}
