import type { KeyShown } from '@brine/api/fleet';
import { Button, Group, Stack, Title } from '@mantine/core';
import {
  useInfiniteQuery,
  type UseInfiniteQueryResult,
  useQueryClient,
} from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import { keysQuery } from '../../api/keys.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { Given } from '../../parts/given.tsx';
import { Grid, type GridColumn } from '../../parts/grid/grid.tsx';
import { useMore } from '../../parts/grid/use-more.ts';
import { Empty, Sourced } from '../../parts/panel.tsx';
import { KeySign } from '../../parts/presence-sign.tsx';
import { When } from '../../parts/when.tsx';
import { useSettings } from '../../state/settings.ts';
import { shellLine } from '../../state/shell-word.ts';
import { type ChosenKeys, useChosenKeys } from './chosen-keys.ts';
import { KeyActs } from './key-acts.tsx';
import { useKeyCounts } from './key-counts.ts';
import { KeyDrawer } from './key-drawer.tsx';
import { type KeyCounts, KeysFilter } from './keys-filter.tsx';

const NUMBER = new Intl.NumberFormat('en');

const COLUMNS: readonly GridColumn<KeyShown>[] = [
  { id: 'id', title: 'Id', width: 'minmax(7rem, 1fr)', cell: ({ id }) => <Given text={id} /> },
  { id: 'state', title: 'State', width: '7rem', cell: ({ state }) => <KeySign state={state} /> },
  {
    id: 'changed',
    title: 'Changed',
    width: '8rem',
    cell: ({ changed }) => <When time={changed} />,
  },
  {
    id: 'salt3008',
    title: 'Fingerprint (salt-key -F of 3008)',
    width: 'minmax(8rem, 2fr)',
    isWide: true,
    cell: ({ fingerprints }) => <code>{fingerprints?.salt3008 ?? '–'}</code>,
  },
  {
    id: 'salt3006',
    title: 'Fingerprint (3006 and before)',
    width: 'minmax(8rem, 2fr)',
    isWide: true,
    cell: ({ fingerprints }) => <code>{fingerprints?.salt3006 ?? '–'}</code>,
  },
];

const route = getRouteApi('/keys');

/** Who wants in? */
export function KeysPage() {
  const search = route.useSearch();
  const { state = 'pending', q, open } = search;
  const navigate = route.useNavigate();
  const queries = useQueryClient();
  const filter = useMemo(() => ({ q, state: state === 'all' ? undefined : state }), [q, state]);
  const keys = useInfiniteQuery(keysQuery(filter));
  const counts = useKeyCounts();
  const rows = useMemo(() => keys.data?.pages.flatMap(({ items }) => items) ?? [], [keys.data]);
  const chosen = useChosenKeys(rows);
  const total = keys.data?.pages.at(-1)?.total ?? 0;
  const known = q === undefined ? counts?.[state as keyof KeyCounts] : undefined;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Keys</Title>
        <Group gap="xs">
          {known !== undefined && keys.isSuccess && known !== total && (
            <Button
              size="compact-sm"
              onClick={() => void queries.resetQueries({ queryKey: ['keys', filter] })}
            >
              {`Show the ${NUMBER.format(known)} of now`}
            </Button>
          )}
          <CopyMenu path="/keys" query={filter} command={shellLine('salt-key', '-L')} />
        </Group>
      </Group>
      <KeysFilter
        search={search}
        counts={counts}
        onChange={(next) => {
          chosen.clear();
          void navigate({ search: next, replace: true });
        }}
      />
      <Sourced source={keys}>
        <KeyActs filter={filter} total={total} chosen={chosen} />
        <KeyRows
          keys={keys}
          rows={rows}
          chosen={chosen}
          onOpen={(id) => void navigate({ search: { ...search, open: id } })}
        />
      </Sourced>
      <KeyDrawer
        id={open}
        onClose={() => {
          const { open: _, ...others } = search;
          void navigate({ search: others });
        }}
      />
    </Stack>
  );
}

interface KeyRowsProps {
  readonly keys: UseInfiniteQueryResult;
  readonly rows: readonly KeyShown[];
  readonly chosen: ChosenKeys;
  readonly onOpen: (id: string) => void;
}

function KeyRows({ keys, rows, chosen, onOpen }: KeyRowsProps) {
  const { settings } = useSettings();
  const { total, onRange } = useMore(keys, rows.length);
  if (total === 0) {
    return (
      <Empty command="salt-minion -d">
        No key is like this. A minion that begins to log in at this master has one here:
      </Empty>
    );
  }
  return (
    <Grid
      label="Keys"
      columns={COLUMNS}
      total={total}
      rowAt={(index) => rows[index]}
      keyOf={({ id }) => id}
      onOpen={({ id }) => onOpen(id)}
      onRange={onRange}
      selection={chosen}
      density={settings.density}
      height="calc(100vh - 17rem)"
    />
  );
}
