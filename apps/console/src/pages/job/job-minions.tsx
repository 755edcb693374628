import type { Job, JobMinionsPage } from '@brine/api/jobs';
import { Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { jobMinionsQuery } from '../../api/job.ts';
import { FilterText } from '../../parts/filter-text.tsx';
import { Given } from '../../parts/given.tsx';
import { Grid, type GridColumn } from '../../parts/grid/grid.tsx';
import { useMore } from '../../parts/grid/use-more.ts';
import { Empty, Sourced } from '../../parts/panel.tsx';
import { StateSign } from '../../parts/state-sign.tsx';
import { When } from '../../parts/when.tsx';
import { LEDGER_ORDER, LEDGER_SIGNS } from '../../state/ledger.ts';
import { useSettings } from '../../state/settings.ts';
import { duration } from '../../state/times.ts';
import type { LiveJob } from './live-job.ts';
import { useJobSearch } from './use-job-search.ts';

const NUMBER = new Intl.NumberFormat('en');

type JobMinion = JobMinionsPage['items'][number];

interface JobMinionsProps {
  readonly job: Job;
  readonly live: LiveJob;
}

/** The minions of a job by their states. What returns meanwhile changes its row in its place. */
export function JobMinions({ job, live }: JobMinionsProps) {
  const { jid, search, change } = useJobSearch();
  const { settings } = useSettings();
  const state = LEDGER_ORDER.find((one) => one === search.state);
  const minions = useInfiniteQuery(jobMinionsQuery(jid, { state, q: search.q }));
  const deadlineMs = job.deadline === null ? Infinity : Date.parse(job.deadline);
  const rows = useMemo(
    () =>
      (minions.data?.pages ?? [])
        .flatMap(({ items }) => items)
        .map((minion) => withLive(minion, live, deadlineMs)),
    [minions.data, live, deadlineMs],
  );
  const { total, onRange } = useMore(minions, rows.length);
  const columns = useMemo(() => columnsOf(job, live), [job, live]);
  return (
    <Stack gap="sm">
      <Group gap="sm" align="end">
        <div className="choices">
          <SegmentedControl
            aria-label="Which minions"
            size="xs"
            value={state ?? 'all'}
            data={[
              { value: 'all', label: `All ${NUMBER.format(job.counts.targeted)}` },
              ...LEDGER_ORDER.map((one) => ({
                value: one,
                label: `${LEDGER_SIGNS[one].shape} ${NUMBER.format(job.counts[one])} ${one}`,
              })),
            ]}
            onChange={(value) => change({ state: value === 'all' ? '' : value })}
          />
        </div>
        <FilterText label="Part of the id" value={search.q} onChange={(q) => change({ q })} />
      </Group>
      <Sourced source={minions}>
        {total === 0 ? (
          <Empty>No minion of this job is like this.</Empty>
        ) : (
          <Grid
            label="Minions of this job"
            columns={columns}
            total={total}
            rowAt={(index) => rows[index]}
            keyOf={({ id }) => id}
            onOpen={({ id }) => change({ open: id })}
            onRange={onRange}
            density={settings.density}
          />
        )}
        <Text size="xs" c="dimmed">
          Enter shows what a minion returned.
        </Text>
      </Sourced>
    </Stack>
  );
}

function withLive(minion: JobMinion, { returns }: LiveJob, deadlineMs: number): JobMinion {
  const came = minion.returned === null ? returns.get(minion.id) : undefined;
  if (came === undefined) return minion;
  const { state, retcode, at } = came;
  return { ...minion, state: Date.parse(at) > deadlineMs ? 'late' : state, retcode, returned: at };
}

function columnsOf({ published }: Job, { progress }: LiveJob): readonly GridColumn<JobMinion>[] {
  return [
    {
      id: 'id',
      title: 'Minion',
      width: 'minmax(8rem, 2fr)',
      cell: ({ id, unexpected }) => (
        <>
          <Given text={id} />
          {unexpected ? ' (no target)' : ''}
        </>
      ),
    },
    {
      id: 'state',
      title: 'State',
      width: 'minmax(7rem, 1fr)',
      cell: ({ id, state, returned }) => {
        const runs = returned === null ? progress.get(id) : undefined;
        return (
          <>
            <StateSign state={state} />
            {runs !== undefined && (
              <>
                , state {runs.number}
                {runs.of === undefined ? '' : ` of ${runs.of}`}
              </>
            )}
          </>
        );
      },
    },
    {
      id: 'retcode',
      title: 'Retcode',
      width: '5rem',
      cell: ({ retcode }) => (retcode === null ? '–' : String(retcode)),
    },
    {
      id: 'returned',
      title: 'Returned',
      width: 'minmax(7rem, 1fr)',
      isWide: true,
      cell: ({ returned }) => <When time={returned} />,
    },
    {
      id: 'after',
      title: 'After',
      width: '7rem',
      isWide: true,
      cell: ({ returned }) =>
        returned === null ? '–' : duration(Date.parse(returned) - Date.parse(published)),
    },
  ];
}
