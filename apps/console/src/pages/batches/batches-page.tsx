import { Button, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useMemo, useState } from 'react';
import { batchesQuery } from '../../api/batches.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { Given } from '../../parts/given.tsx';
import { Grid, type GridColumn } from '../../parts/grid/grid.tsx';
import { Empty, Sourced } from '../../parts/panel.tsx';
import { When } from '../../parts/when.tsx';
import { useSettings } from '../../state/settings.ts';
import { shellLine } from '../../state/shell-word.ts';
import { BatchBar, type BatchLine, BatchState } from './batch-state.tsx';

/** A batch of the list; it stays there when it has ended. */
type Row = BatchLine & { readonly ended: boolean };

const COLUMNS: readonly GridColumn<Row>[] = [
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
  const { rows, began, show } = useRows(batches.data?.items);
  const open = (jid: string): void => void navigate({ to: '/batches/$jid', params: { jid } });
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Batches</Title>
        <Group>
          {began > 0 && (
            <Button size="compact-sm" onClick={show}>
              {`Show ${began} new`}
            </Button>
          )}
          <CopyMenu path="/batches" command={shellLine('salt-run', 'batch.list_active')} />
        </Group>
      </Group>
      <Sourced source={batches}>
        {rows.length === 0 ? (
          <Empty command="salt -b 10% '*' test.ping">
            No batch is running. A command for some minions at a time makes one:
          </Empty>
        ) : (
          <Grid
            label="Batches"
            columns={COLUMNS}
            total={rows.length}
            rowAt={(index) => rows[index]}
            keyOf={({ jid }) => jid}
            onOpen={({ jid }) => open(jid)}
            density={settings.density}
            height="calc(100vh - 16rem)"
          />
        )}
      </Sourced>
      <Ended onOpen={open} />
    </Stack>
  );
}

/** Rows keep their places while one looks: what ends stays, what begins waits for `show`. */
function useRows(items: readonly BatchLine[] | undefined) {
  const [shown, setShown] = useState<readonly BatchLine[]>();
  if (shown === undefined && items !== undefined) setShown(items);
  const byJid = useMemo(() => new Map(items?.map((one) => [one.jid, one])), [items]);
  const rows = (shown ?? []).map((one): Row => {
    const now = byJid.get(one.jid);
    return { ...(now ?? one), ended: items !== undefined && now === undefined };
  });
  const known = new Set(rows.map(({ jid }) => jid));
  const began = (items ?? []).filter(({ jid }) => !known.has(jid)).length;
  return { rows, began, show: () => setShown(items) };
}

/** The list has what runs; a batch that has ended is opened by its job id. */
function Ended({ onOpen }: { readonly onOpen: (jid: string) => void }) {
  const [jid, setJid] = useState('');
  const isJid = /^\d{20}$/.test(jid.trim());
  const open = (event: SubmitEvent): void => {
    event.preventDefault();
    if (isJid) onOpen(jid.trim());
  };
  return (
    <form onSubmit={open}>
      <Group align="end" gap="xs">
        <TextInput
          label="Open an ended one by its job id"
          value={jid}
          onChange={({ currentTarget }) => setJid(currentTarget.value)}
          placeholder="20261130133112000000"
          w={320}
        />
        <Button type="submit" variant="default" disabled={!isJid}>
          Open
        </Button>
        <Text size="sm" c="dimmed">
          Ended batches are kept for seven days, and are among the jobs.
        </Text>
      </Group>
    </form>
  );
}
