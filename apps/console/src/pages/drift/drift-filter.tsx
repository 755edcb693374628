import type { DriftPage } from '@brine/api/fleet';
import { Chip, Group } from '@mantine/core';
import { FilterText } from '../../parts/filter-text.tsx';
import type { DriftSearch } from './drift-search.ts';
import { type Drift, DRIFT_SIGNS } from './drift-signs.tsx';

const NUMBER = new Intl.NumberFormat('en');

interface DriftFilterProps {
  readonly search: DriftSearch;
  readonly facets: DriftPage['facets'];
  readonly onChange: (search: DriftSearch) => void;
}

/** Chooses minions by their state and their ids. */
export function DriftFilter({ search, facets, onChange }: DriftFilterProps) {
  const choices = (Object.keys(DRIFT_SIGNS) as Drift[]).map((state) => {
    const { shape, word } = DRIFT_SIGNS[state];
    const count = facets === undefined ? '' : ` ${NUMBER.format(facets.state[state])}`;
    return { value: state, label: `${shape} ${word}${count}` };
  });
  return (
    <Group gap="sm" align="end">
      <Chip.Group value={search.state ?? ''} onChange={(state) => onChange({ ...search, state })}>
        <Group gap={4} role="radiogroup" aria-label="Which minions">
          {[{ value: '', label: 'All' }, ...choices].map(({ value, label }) => (
            <Chip key={value} value={value} size="xs">
              {label}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
      <FilterText
        w={180}
        label="Minion"
        placeholder="web*"
        value={search.q}
        onChange={(q) => onChange({ ...search, q })}
      />
    </Group>
  );
}
