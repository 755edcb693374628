import type { MinionShown } from '@brine/api/fleet';
import { Anchor } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Given } from '../../parts/given.tsx';
import type { GridColumn } from '../../parts/grid/grid.tsx';
import { KeySign, PresenceSign } from '../../parts/presence-sign.tsx';
import { StateSign } from '../../parts/state-sign.tsx';
import { When } from '../../parts/when.tsx';

type Column = GridColumn<MinionShown>;

const ID: Column = {
  id: 'id',
  title: 'Minion',
  width: 'minmax(7rem, 2fr)',
  sort: 'id',
  cell: ({ id }) => (
    <Anchor component={Link} to={`/minions/${encodeURIComponent(id)}`} size="sm" tabIndex={-1}>
      <Given text={id} />
    </Anchor>
  ),
};

const PRESENCE: Column = {
  id: 'present',
  title: 'Presence',
  width: 'minmax(8rem, 1fr)',
  sort: 'present',
  cell: ({ present }) => <PresenceSign present={present} />,
};

/** Columns that one may choose, by what the API calls their order. */
export const CHOSEN_COLUMNS: readonly Column[] = [
  column('since', 'Since', ({ since }) => <When time={since} />, '8rem'),
  column(
    'seen',
    'Last seen',
    ({ seen }) =>
      seen === null ? (
        '–'
      ) : (
        <>
          <When time={seen.at} /> {seen.by}
        </>
      ),
    '11rem',
  ),
  column('saltversion', 'Version', ({ grains }) => <Grain value={grains.saltversion} />),
  column('os', 'OS', ({ grains }) => <Grain value={grains.os} />),
  column('osrelease', 'Release', ({ grains }) => <Grain value={grains.osrelease} />),
  column('kernel', 'Kernel', ({ grains }) => <Grain value={grains.kernel} />),
  column('key', 'Key', ({ key }) => <KeySign state={key} />),
  column(
    'stateRun',
    'Last states',
    ({ stateRun }) =>
      stateRun === null ? (
        '–'
      ) : (
        <>
          <StateSign
            state={stateRun.result === 'failed' ? 'failed' : 'returned'}
            word={stateRun.result}
          />{' '}
          <When time={stateRun.at} />
        </>
      ),
    '10rem',
  ),
];

const USUAL = ['seen', 'saltversion', 'os', 'stateRun'];

function column(id: string, title: string, cell: Column['cell'], least = '5rem'): Column {
  return { id, title, width: `minmax(${least}, 1fr)`, sort: id, isWide: true, cell };
}

function Grain({ value }: { readonly value: string | null }) {
  return value === null ? '–' : <Given text={value} max={60} />;
}

/** The names of the chosen columns. @param text of the address */
export function columnNames(text: string | undefined): readonly string[] {
  return text === undefined ? USUAL : text.split(',');
}

/** The columns in their order. */
export function columnsOf(names: readonly string[]): readonly Column[] {
  return [ID, PRESENCE, ...CHOSEN_COLUMNS.filter(({ id }) => names.includes(id))];
}
