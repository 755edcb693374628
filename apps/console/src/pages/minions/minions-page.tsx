import {
  Box,
  Button,
  Checkbox,
  Drawer,
  Flex,
  Group,
  Popover,
  Stack,
  Text,
  Title,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { getRouteApi } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { FilterText } from '../../parts/filter-text.tsx';
import { Grid } from '../../parts/grid/grid.tsx';
import { Empty, Sourced, Stale } from '../../parts/panel.tsx';
import { filterOf, type FleetSearch, targetOf, withText } from '../../state/fleet/fleet-search.ts';
import { useSettings } from '../../state/settings.ts';
import { type ShellLine, shellLine } from '../../state/shell-word.ts';
import { CHOSEN_COLUMNS, columnNames, columnsOf } from './fleet-columns.tsx';
import { FleetFacets } from './fleet-facets.tsx';
import { type Range, useChosen, useFleetRows } from './fleet-rows.ts';
import { RunOn } from './run-on.tsx';

const NUMBER = new Intl.NumberFormat('en');
const FACETS_PX = 230;

const route = getRouteApi('/minions');

/** Which minions are not there, or not like the others? */
export function MinionsPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [isFiltering, facetsDrawer] = useDisclosure();
  const [range, setRange] = useState<Range>([0, 0]);
  const filter = useMemo(() => filterOf(search), [search]);
  const fleet = useFleetRows(filter, range);
  const { counts } = fleet;
  const chosen = useChosen();
  const onRange = useCallback((first: number, last: number) => setRange([first, last]), []);
  const change = (next: FleetSearch): void => void navigate({ search: next, replace: true });
  const facets = <FleetFacets facets={counts.data?.facets} search={search} onChange={change} />;
  return (
    <Stack gap="sm">
      <FleetHead
        search={search}
        fleet={fleet}
        chosen={chosen}
        onFilters={facetsDrawer.open}
        onChange={change}
      />
      <FleetWords search={search} onChange={change} />
      <Flex gap="md" align="start">
        <Box w={FACETS_PX} flex="none" visibleFrom="md" component="aside" aria-label="Filters">
          {facets}
        </Box>
        <Stack gap="xs" flex={1} miw={0}>
          <Sourced source={counts}>
            <FleetGrid fleet={fleet} chosen={chosen} onRange={onRange} onChange={change} />
          </Sourced>
        </Stack>
      </Flex>
      <Drawer opened={isFiltering} onClose={facetsDrawer.close} title="Filters">
        {facets}
      </Drawer>
    </Stack>
  );
}

type Fleet = ReturnType<typeof useFleetRows>;
type Chosen = ReturnType<typeof useChosen>;

interface HeadProps {
  readonly search: FleetSearch;
  readonly fleet: Fleet;
  readonly chosen: Chosen;
  readonly onFilters: () => void;
  readonly onChange: (search: FleetSearch) => void;
}

/** What one may do with the fleet. */
function FleetHead({ search, fleet: { counts, rows }, chosen, onFilters, onChange }: HeadProps) {
  const filter = filterOf(search);
  return (
    <Group justify="space-between">
      <Title order={1}>Minions</Title>
      <Group gap="xs">
        {rows.moved > 0 && (
          <Button size="compact-sm" onClick={() => rows.release()}>
            {`Show ${NUMBER.format(rows.moved)} moved`}
          </Button>
        )}
        <RunOn
          filter={filter}
          total={counts.data?.total ?? 0}
          chosen={chosen.ids}
          onClear={chosen.clear}
        />
        <Button size="compact-sm" variant="default" hiddenFrom="md" onClick={onFilters}>
          Filters
        </Button>
        <ColumnMenu
          names={columnNames(search.columns)}
          onChange={(next) => onChange(withText(search, 'columns', next.join(',')))}
        />
        <CopyMenu path="/minions" query={{ ...filter }} command={commandOf(search)} />
      </Group>
    </Group>
  );
}

interface GridProps {
  readonly fleet: Fleet;
  readonly chosen: Chosen;
  readonly onRange: (first: number, last: number) => void;
  readonly onChange: (search: FleetSearch) => void;
}

function FleetGrid({ fleet, chosen, onRange, onChange }: GridProps) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { settings } = useSettings();
  const { counts, rows, pages } = fleet;
  const total = counts.data?.total ?? 0;
  return (
    <>
      {pages.error !== null && <Stale source={pages} error={pages.error} />}
      <Text size="sm" className="number">
        {`${NUMBER.format(total)} match`}
        {chosen.ids.size > 0 && `, ${NUMBER.format(chosen.ids.size)} chosen`}
      </Text>
      {total === 0 && rows.total === 0 ? (
        <Empty command="salt-key -A">
          No minion is like this. A minion is here once its key is accepted:
        </Empty>
      ) : (
        <Grid
          label="Minions"
          columns={columnsOf(columnNames(search.columns))}
          total={rows.total}
          rowAt={(index) => rows.rowAt(index)}
          keyOf={({ id }) => id}
          onOpen={({ id }) => void navigate({ to: '/minions/$id', params: { id } })}
          onRange={onRange}
          sort={search.sort ?? 'id'}
          onSort={(sort) => onChange(withText(search, 'sort', sort === 'id' ? '' : sort))}
          selection={chosen}
          density={settings.density}
          height="calc(100vh - 15rem)"
        />
      )}
    </>
  );
}

/** The same on the command line, as far as a target can have it. */
function commandOf(search: FleetSearch): ShellLine {
  const target = targetOf(filterOf(search));
  if (target === undefined) return shellLine('salt-run', 'manage.status');
  const kind = target.tgtType === 'compound' ? ['-C'] : [];
  return shellLine('salt', ...kind, target.tgt, 'test.ping');
}

/** Filters that one writes. */
function FleetWords({
  search,
  onChange,
}: {
  readonly search: FleetSearch;
  readonly onChange: (search: FleetSearch) => void;
}) {
  return (
    <Group gap="sm" align="end">
      <FilterText
        w={220}
        maxLength={255}
        label="Id"
        placeholder="a part, or web*"
        value={search.q}
        onChange={(text) => onChange(withText(search, 'q', text))}
      />
      <FilterText
        w={130}
        maxLength={40}
        label="Silent for"
        placeholder="10m, 2h, 3d"
        value={search.silentSince}
        onChange={(text) => onChange(withText(search, 'silentSince', text))}
      />
      {Object.keys(filterOf(search)).some((name) => name !== 'sort') && (
        <Button size="xs" variant="subtle" onClick={() => onChange(kept(search))}>
          Clear the filters
        </Button>
      )}
    </Group>
  );
}

function kept({ sort, columns }: FleetSearch): FleetSearch {
  return {
    ...(sort === undefined ? {} : { sort }),
    ...(columns === undefined ? {} : { columns }),
  };
}

/** Chooses columns. */
function ColumnMenu({
  names,
  onChange,
}: {
  readonly names: readonly string[];
  readonly onChange: (names: readonly string[]) => void;
}) {
  return (
    <Popover trapFocus returnFocus>
      <Popover.Target>
        <Button size="compact-sm" variant="default" visibleFrom="sm">
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Columns">
        <Checkbox.Group
          label="Columns"
          value={[...names]}
          onChange={(next) => onChange(next.length === 0 ? ['id'] : next)}
        >
          <Stack gap="xs" mt="xs">
            {CHOSEN_COLUMNS.map(({ id, title }) => (
              <Checkbox key={id} value={id} label={title} size="xs" />
            ))}
          </Stack>
        </Checkbox.Group>
      </Popover.Dropdown>
    </Popover>
  );
}
