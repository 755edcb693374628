import type { KeyShown } from '@brine/api/fleet';
import { Group, SegmentedControl } from '@mantine/core';
import { FilterText } from '../../parts/filter-text.tsx';

const NUMBER = new Intl.NumberFormat('en');

/** How many keys there are of each state. */
export type KeyCounts = Readonly<Record<KeyShown['state'], number>>;

const STATES = ['pending', 'all', 'accepted', 'rejected', 'denied'] as const;
const SIGNS = { pending: '?', all: '', accepted: '✓', rejected: '✖', denied: '!' } as const;

type KeysSearch = { readonly [name in 'state' | 'q' | 'open']?: string };

interface KeysFilterProps {
  readonly search: KeysSearch;
  readonly counts: KeyCounts | undefined;
  readonly onChange: (search: KeysSearch) => void;
}

/** Chooses keys: those that wait come first. */
export function KeysFilter({ search, counts, onChange }: KeysFilterProps) {
  return (
    <Group gap="sm" align="end">
      <SegmentedControl
        aria-label="Which keys"
        size="xs"
        value={search.state ?? 'pending'}
        data={STATES.map((value) => ({ value, label: labelOf(value, counts) }))}
        onChange={(state) => onChange({ ...search, state })}
        style={{ overflowX: 'auto', maxWidth: '100%' }}
      />
      <FilterText
        w={220}
        maxLength={255}
        label="Id"
        placeholder="a part, or web*"
        value={search.q}
        onChange={(q) => onChange({ ...search, q })}
      />
    </Group>
  );
}

function labelOf(state: (typeof STATES)[number], counts: KeyCounts | undefined): string {
  if (state === 'all') return 'All';
  const count = counts === undefined ? '' : ` ${NUMBER.format(counts[state])}`;
  return `${SIGNS[state]} ${state}${count}`;
}
