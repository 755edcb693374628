import { Button, Group, Stack, Title } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { batchesQuery, endedBatchesQuery } from '../../api/batches.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { Given } from '../../parts/given.tsx';
import { Grid, type GridColumn } from '../../parts/grid/grid.tsx';
import { useMore } from '../../parts/grid/use-more.ts';
import { Empty, Sourced, Stale } from '../../parts/panel.tsx';
import { When } from '../../parts/when.tsx';
import { useSettings } from '../../state/settings.ts';
import { shellLine } from '../../state/shell-word.ts';
import { BatchBar, type BatchLine, BatchState } from './batch-state.tsx';

const COLUMNS: readonly GridColumn<BatchLine>[] = [
  { id: 'at', title: 'Began', width: '8rem', cell: ({ created }) => <When time={created} /> },
  { id: 'state', title: 'State', width: '9rem', cell: (batch) => <BatchState batch={batch} /> },
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
    cell: ({ tgt }) => <Given text={tgt.join(',')} />,
  },
  {
    id: 'user',
    title: 'User',
    width: 'minmax(5rem, 1fr)',
    isWide: true,
    cell: ({ user }) => <Given text={user} />,
  },
  {
    id: 'bar',
    title: 'Minions',
    width: '9rem',
    isWide: true,
    cell: (batch) => <BatchBar batch={batch} />,
  },
  {
    id: 'done',
    title: 'Done',
    width: '9rem',
    cell: ({ completed, total, failed }) => (
      <span className="number">
        {failed > 0 && `✖ ${failed} · `}
        {completed}/{total}
      </span>
    ),
  },
  {
    id: 'last',
    title: 'Last step',
    width: '8rem',
    isWide: true,
    cell: ({ lastProgress }) => <When time={lastProgress} />,
  },
];

/** Where does it stand, can I stop it? */
export function BatchesPage() {
  const navigate = useNavigate();
  const { settings } = useSettings();
  const batches = useQuery(batchesQuery);
  const ended = useInfiniteQuery(endedBatchesQuery);
  const past = useMemo(() => ended.data?.pages.flatMap(({ items }) => items) ?? [], [ended.data]);
  const { rows, began, show } = useRows(batches.data?.items, past);
  const { total, onRange } = useMore(ended, rows.length);
  const open = (jid: string): void => void navigate({ to: '/batches/$jid', params: { jid } });
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Batches</Title>
        <Group>
          {began > 0 && (
            <Button
              size="compact-sm"
              onClick={() => {
                show();
                void ended.refetch();
              }}
            >
              {`Show ${began} new`}
            </Button>
          )}
          <CopyMenu path="/batches" command={shellLine('salt-run', 'batch.list_active')} />
        </Group>
      </Group>
      {ended.error !== null && <Stale source={ended} error={ended.error} />}
      <Sourced source={batches}>
        {total === 0 ? (
          <Empty command="salt -b 10% '*' test.ping">
            Batches that run, and those of the last seven days, come here. A command for some
            minions at a time makes one:
          </Empty>
        ) : (
          <Grid
            label="Batches"
            columns={COLUMNS}
            total={total}
            rowAt={(index) => rows[index]}
            keyOf={({ jid }) => jid}
            onOpen={({ jid }) => open(jid)}
            onRange={onRange}
            density={settings.density}
            height="calc(100vh - 12rem)"
          />
        )}
      </Sourced>
    </Stack>
  );
}

/** Rows keep their places while one looks: what ends stays, what begins waits for `show`. */
function useRows(items: readonly BatchLine[] | undefined, past: readonly BatchLine[]) {
  const [shown, setShown] = useState<readonly BatchLine[]>();
  if (shown === undefined && items !== undefined) setShown(items);
  const byJid = useMemo(
    () => new Map([...past, ...(items ?? [])].map((one) => [one.jid, one])),
    [items, past],
  );
  const open = new Set(items?.map(({ jid }) => jid));
  const looked = (shown ?? []).map((one): BatchLine => {
    const now = byJid.get(one.jid) ?? one;
    return { ...now, ended: items !== undefined && !open.has(one.jid) };
  });
  const known = new Set(looked.map(({ jid }) => jid));
  const rows = [...looked, ...past.filter(({ jid }) => !known.has(jid))];
  const began = (items ?? []).filter(({ jid }) => !known.has(jid)).length;
  rows.sort((one, other) => (one.jid < other.jid ? 1 : -1));
  return { rows, began, show: () => setShown(items) };
}
