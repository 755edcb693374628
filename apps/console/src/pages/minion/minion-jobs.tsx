import type { MinionJobsPage } from '@brine/api/fleet';
import { SegmentedControl, Stack } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { minionJobsQuery } from '../../api/minions.ts';
import { Given } from '../../parts/given.tsx';
import { Grid, type GridColumn } from '../../parts/grid/grid.tsx';
import { useMore } from '../../parts/grid/use-more.ts';
import { Empty, Sourced } from '../../parts/panel.tsx';
import { StateSign } from '../../parts/state-sign.tsx';
import { When } from '../../parts/when.tsx';
import { LEDGER_ORDER, LEDGER_SIGNS } from '../../state/ledger.ts';
import { useSettings } from '../../state/settings.ts';
import { shellWord } from '../../state/shell-word.ts';

type MinionJob = MinionJobsPage['items'][number];

const COLUMNS: readonly GridColumn<MinionJob>[] = [
  { id: 'at', title: 'Started', width: '8rem', cell: ({ published }) => <When time={published} /> },
  {
    id: 'fun',
    title: 'Function',
    width: 'minmax(7rem, 2fr)',
    cell: ({ fun }) => <Given text={fun.join(', ')} />,
  },
  {
    id: 'state',
    title: 'State',
    width: 'minmax(6rem, 1fr)',
    cell: ({ state }) => <StateSign state={state} />,
  },
  {
    id: 'retcode',
    title: 'Return code',
    width: '7rem',
    isWide: true,
    cell: ({ retcode }) => retcode ?? '–',
  },
  {
    id: 'returned',
    title: 'Returned',
    width: '8rem',
    isWide: true,
    cell: ({ returned }) => <When time={returned} />,
  },
];

interface MinionJobsProps {
  readonly id: string;
  readonly state: string | undefined;
  readonly onState: (state: string | undefined) => void;
}

/** Its part in each job, newest first. */
export function MinionJobs({ id, state, onState }: MinionJobsProps) {
  const navigate = useNavigate();
  const { settings } = useSettings();
  const jobs = useInfiniteQuery(minionJobsQuery(id, state));
  const rows = jobs.data?.pages.flatMap(({ items }) => items) ?? [];
  const { total, onRange } = useMore(jobs, rows.length);
  return (
    <Stack gap="xs">
      <SegmentedControl
        aria-label="Which jobs"
        size="xs"
        value={state ?? 'all'}
        data={[
          { value: 'all', label: 'All' },
          ...LEDGER_ORDER.map((value) => ({
            value,
            label: `${LEDGER_SIGNS[value].shape} ${LEDGER_SIGNS[value].word}`,
          })),
        ]}
        onChange={(value) => onState(value === 'all' ? undefined : value)}
        style={{ overflowX: 'auto', alignSelf: 'start', maxWidth: '100%' }}
      />
      <Sourced source={jobs}>
        {total === 0 ? (
          <Empty command={`salt -L ${shellWord(id)} test.ping`}>
            No job of it is like this. A command makes one:
          </Empty>
        ) : (
          <Grid
            label="Jobs of this minion"
            columns={COLUMNS}
            total={total}
            rowAt={(index) => rows[index]}
            keyOf={({ jid }) => jid}
            onOpen={({ jid }) => void navigate({ to: '/jobs/$jid', params: { jid } })}
            onRange={onRange}
            density={settings.density}
            height="60vh"
          />
        )}
      </Sourced>
    </Stack>
  );
}
