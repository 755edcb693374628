import type { AuditedAct } from '@brine/api/runs';
import { Button, Drawer, Group, Stack, Table, Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import { auditQuery } from '../../api/audit.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { Given } from '../../parts/given.tsx';
import { Grid, type GridColumn } from '../../parts/grid/grid.tsx';
import { useMore } from '../../parts/grid/use-more.ts';
import { PageLink } from '../../parts/page-link.tsx';
import { Empty, Sourced } from '../../parts/panel.tsx';
import { When } from '../../parts/when.tsx';
import { useSettings } from '../../state/settings.ts';
import { shellLine } from '../../state/shell-word.ts';
import { AuditFilter } from './audit-filter.tsx';
import { ExportMenu } from './export-menu.tsx';
import { SealCheck } from './seal-check.tsx';

const COLUMNS: readonly GridColumn<AuditedAct>[] = [
  { id: 'at', title: 'When', width: '8rem', cell: ({ at }) => <When time={at} /> },
  { id: 'who', title: 'Who', width: 'minmax(9rem, 1fr)', cell: (act) => <Who act={act} /> },
  { id: 'act', title: 'Act', width: '5rem', cell: ({ kind }) => kind },
  {
    id: 'what',
    title: 'What',
    width: 'minmax(8rem, 2fr)',
    cell: ({ fun, path }) => <Given text={fun ?? path ?? '–'} />,
  },
  {
    id: 'target',
    title: 'Target',
    width: 'minmax(6rem, 2fr)',
    isWide: true,
    cell: ({ target }) => <Given text={target ?? '–'} />,
  },
  {
    id: 'peer',
    title: 'From',
    width: 'minmax(6rem, 1fr)',
    isWide: true,
    cell: ({ peer, source }) => <Given text={peer ?? source ?? '–'} />,
  },
  {
    id: 'outcome',
    title: 'Outcome',
    width: '7rem',
    cell: ({ outcome }) => <Given text={outcome} />,
  },
];

/** A name that was only given is no proof. */
function Who({ act: { principal, claimed } }: { readonly act: AuditedAct }) {
  if (principal !== undefined) return <Given text={principal} />;
  if (claimed === undefined) return <span>–</span>;
  return (
    <span>
      “<Given text={claimed} />” unproven
    </span>
  );
}

const route = getRouteApi('/audit');

/** Who did this? */
export function AuditPage() {
  const { open, check, ...filter } = route.useSearch();
  const navigate = route.useNavigate();
  const { settings } = useSettings();
  const acts = useInfiniteQuery(auditQuery(filter));
  const rows = useMemo(() => acts.data?.pages.flatMap(({ items }) => items) ?? [], [acts.data]);
  const { total, onRange } = useMore(acts, rows.length);
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Audit</Title>
        <Group gap="xs">
          <Button size="compact-sm" variant="default" onClick={() => void acts.refetch()}>
            Ask again
          </Button>
          <SealCheck
            jid={check}
            onBegun={(jid) =>
              void navigate({ search: (old) => ({ ...old, check: jid }), replace: true })
            }
          />
          <ExportMenu filter={filter} />
          <CopyMenu path="/audit" query={filter} command={shellLine('salt-run', 'audit.list')} />
        </Group>
      </Group>
      <AuditFilter
        search={filter}
        onChange={(next) => void navigate({ search: { ...next, check }, replace: true })}
      />
      <Sourced source={acts}>
        {total === 0 ? (
          <Empty command="salt-run audit.list">No act on record is like this.</Empty>
        ) : (
          <Grid
            label="Acts on record"
            columns={COLUMNS}
            total={total}
            rowAt={(index) => rows[index]}
            keyOf={({ row }) => row}
            onOpen={({ row }) =>
              void navigate({ search: (old) => ({ ...old, open: row }), replace: true })
            }
            onRange={onRange}
            density={settings.density}
            height="calc(100vh - 14rem)"
          />
        )}
      </Sourced>
      <ActDrawer
        act={rows.find(({ row }) => row === open)}
        onClose={() =>
          void navigate({ search: (old) => ({ ...old, open: undefined }), replace: true })
        }
      />
    </Stack>
  );
}

/** All that is on record of one act. */
function ActDrawer({
  act,
  onClose,
}: {
  readonly act: AuditedAct | undefined;
  readonly onClose: () => void;
}) {
  return (
    <Drawer opened={act !== undefined} onClose={onClose} position="right" title="Act">
      <Table>
        <Table.Tbody>
          {Object.entries(act ?? {}).map(([name, value = '']) => (
            <Table.Tr key={name}>
              <Table.Th scope="row">{name}</Table.Th>
              <Table.Td>
                {name === 'jid' ? (
                  <PageLink path={`/jobs/${encodeURIComponent(value)}`}>
                    <Given text={value} />
                  </PageLink>
                ) : (
                  <Given text={value} max={5_000} />
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Drawer>
  );
}
