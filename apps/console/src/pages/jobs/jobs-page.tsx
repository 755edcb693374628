import type { JobLine } from '@brine/api/jobs';
import { Group, Stack, Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import { jobsQuery } from '../../api/jobs.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { Given } from '../../parts/given.tsx';
import { chosenColumns } from '../../parts/grid/columns.ts';
import { ColumnsMenu } from '../../parts/grid/columns-menu.tsx';
import { Grid, type GridColumn } from '../../parts/grid/grid.tsx';
import { useMore } from '../../parts/grid/use-more.ts';
import { Empty, Sourced } from '../../parts/panel.tsx';
import { StateSign } from '../../parts/state-sign.tsx';
import { When } from '../../parts/when.tsx';
import { LEDGER_ORDER } from '../../state/ledger.ts';
import { useSettings } from '../../state/settings.ts';
import { shellLine } from '../../state/shell-word.ts';
import { FreshJobsButton } from './fresh-jobs-button.tsx';
import { JobBar } from './job-bar.tsx';
import { JobsFilter } from './jobs-filter.tsx';
import { filterOf } from './jobs-search.ts';
import { useLiveJobs } from './live-jobs.ts';

const NUMBER = new Intl.NumberFormat('en');
const BAR_PX = 140;

const COLUMNS: readonly GridColumn<JobLine>[] = [
  { id: 'at', title: 'Started', width: '8rem', cell: ({ published }) => <When time={published} /> },
  {
    id: 'fun',
    title: 'Function',
    width: 'minmax(8rem, 2fr)',
    cell: ({ fun }) => <Given text={fun.join(', ')} />,
  },
  {
    id: 'tgt',
    title: 'Target',
    width: 'minmax(6rem, 2fr)',
    isWide: true,
    cell: ({ tgt = [] }) => <Given text={tgt.join(',')} />,
  },
  {
    id: 'who',
    title: 'User',
    width: 'minmax(5rem, 1fr)',
    isWide: true,
    cell: ({ principal, user }) => <Given text={principal ?? user ?? '–'} />,
  },
  {
    id: 'origin',
    title: 'Origin',
    width: '6rem',
    isWide: true,
    cell: ({ origin }) => origin ?? '–',
  },
  {
    id: 'bar',
    title: 'Minions',
    width: `${BAR_PX}px`,
    isWide: true,
    cell: (job) => <JobBar job={job} width={BAR_PX} />,
  },
  {
    id: 'counts',
    title: 'Ledger',
    width: 'minmax(12rem, 2fr)',
    cell: (job) => <Counts job={job} />,
  },
];

/** What is not as it should be, before the number of all. */
function Counts({ job: { counts } }: { readonly job: JobLine }) {
  const odd = LEDGER_ORDER.filter((state) => state !== 'returned' && counts[state] > 0);
  return (
    <Group gap="xs" wrap="nowrap" className="number">
      {odd.map((state) => (
        <StateSign key={state} state={state} word={NUMBER.format(counts[state])} />
      ))}
      <StateSign
        state="returned"
        word={`${NUMBER.format(counts.returned)}/${NUMBER.format(counts.targeted)}`}
      />
    </Group>
  );
}

const route = getRouteApi('/jobs');

/** What runs, what failed? */
export function JobsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { settings } = useSettings();
  const filter = useMemo(() => filterOf(search), [search]);
  const jobs = useInfiniteQuery({ ...jobsQuery(filter), refetchOnWindowFocus: false });
  const { rows, fresh, show } = useLiveJobs(filter, jobs.data);
  const { total, onRange } = useMore(jobs, rows.length);
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Jobs</Title>
        <Group>
          <FreshJobsButton fresh={fresh} show={show} />
          <ColumnsMenu
            columns={COLUMNS}
            chosen={search.columns}
            onChange={(columns) => void navigate({ search: { ...search, columns }, replace: true })}
          />
          <CopyMenu path="/jobs" query={filter} command={shellLine('salt-run', 'jobs.list_jobs')} />
        </Group>
      </Group>
      <JobsFilter
        search={search}
        onChange={(next) => void navigate({ search: next, replace: true })}
      />
      <Sourced source={jobs}>
        {total === 0 ? (
          <Empty command="salt '*' test.ping">No job is like this. A command makes one:</Empty>
        ) : (
          <Grid
            label="Jobs"
            columns={chosenColumns(COLUMNS, search.columns)}
            total={total}
            rowAt={(index) => rows[index]}
            keyOf={({ jid }) => jid}
            onOpen={({ jid }) => void navigate({ to: '/jobs/$jid', params: { jid } })}
            onRange={onRange}
            density={settings.density}
            height="calc(100vh - 14rem)"
          />
        )}
      </Sourced>
    </Stack>
  );
}
