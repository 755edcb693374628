import type { JobStates as States } from '@brine/api/jobs';
import { Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { jobStatesQuery } from '../../../api/job.ts';
import { Given } from '../../../parts/given.tsx';
import { Grid, type GridColumn } from '../../../parts/grid/grid.tsx';
import { Empty, Sourced } from '../../../parts/panel.tsx';
import { useSettings } from '../../../state/settings.ts';
import { duration } from '../../../state/times.ts';
import { OutcomeSign } from '../answers/return-view.tsx';
import { OUTCOME_SIGNS, type StateOutcome } from '../answers/state-run.ts';
import { FreshButton } from '../fresh-button.tsx';
import { useCalm } from '../use-calm.ts';
import { useJobSearch } from '../use-job-search.ts';
import { sortedStates } from './sorted-states.ts';

const NUMBER = new Intl.NumberFormat('en');

type StateRow = States['items'][number];

const OUTCOMES: readonly StateOutcome[] = ['failed', 'changed', 'would', 'ok'];

const COLUMNS: readonly GridColumn<StateRow>[] = [
  {
    id: 'id',
    title: 'State',
    width: 'minmax(10rem, 3fr)',
    sort: 'id',
    cell: ({ id }) => <Given text={id} />,
  },
  ...OUTCOMES.map((outcome): GridColumn<StateRow> => ({
    id: outcome,
    title: OUTCOME_SIGNS[outcome].word,
    width: '7rem',
    sort: outcome,
    isWide: outcome === 'would' || outcome === 'ok',
    cell: (row) =>
      row[outcome] === 0 ? (
        '0'
      ) : (
        <>
          {NUMBER.format(row[outcome])} <OutcomeSign outcome={outcome} />
        </>
      ),
  })),
  {
    id: 'slowest',
    title: 'Slowest',
    width: 'minmax(9rem, 2fr)',
    sort: 'slowestMs',
    isWide: true,
    cell: ({ slowestMs, slowest }) => (
      <>
        {duration(slowestMs)} <Given text={slowest} max={60} />
      </>
    ),
  },
];

/** What each state came to on all minions, and where it was slowest. */
export function JobStates({ came }: { readonly came: number }) {
  const { jid, search, change } = useJobSearch();
  const { settings } = useSettings();
  const states = useQuery(jobStatesQuery(jid));
  const { fresh, show, touch } = useCalm(came, () => void states.refetch());
  const { data } = states;
  const rows = useMemo(() => sortedStates(data?.items ?? [], search.sort), [data, search.sort]);
  return (
    <Stack gap="sm" {...touch}>
      <Sourced source={states}>
        <Group gap="sm">
          <Text size="sm" role="status">
            {NUMBER.format(data?.minions ?? 0)} minions returned a run of states
            {data?.whole === false && '; others are still read'}
            {(data?.more ?? 0) > 0 && `; ${NUMBER.format(data?.more ?? 0)} more states`}
          </Text>
          <FreshButton fresh={fresh} show={show} />
        </Group>
        {rows.length === 0 ? (
          <Empty command="salt '*' state.apply test=True">
            This job ran no states. One that does:
          </Empty>
        ) : (
          <Grid
            label="States"
            columns={COLUMNS}
            total={rows.length}
            rowAt={(index) => rows[index]}
            keyOf={({ id }) => id}
            onOpen={({ slowest }) => change({ open: slowest })}
            sort={search.sort ?? ''}
            onSort={(sort) => change({ sort })}
            density={settings.density}
          />
        )}
        <Text size="xs" c="dimmed">
          Enter shows what the slowest minion returned.
        </Text>
      </Sourced>
    </Stack>
  );
}
