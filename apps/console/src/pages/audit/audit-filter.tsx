import { Group, NativeSelect, TextInput } from '@mantine/core';
import { FilterText } from '../../parts/filter-text.tsx';

/** Acts on record, as `/v1/audit` calls them. */
const ACTS = ['login', 'key', 'publish', 'runner', 'wheel', 'token', 'request', 'read'] as const;

/** What acts are looked for. */
export interface AuditSearch {
  readonly who?: string | undefined;
  readonly act?: string | undefined;
  readonly from?: string | undefined;
}

interface AuditFilterProps {
  readonly search: AuditSearch;
  readonly onChange: (search: AuditSearch) => void;
}

/** Chooses acts; each choice is in the address. */
export function AuditFilter({ search, onChange }: AuditFilterProps) {
  return (
    <Group gap="sm" align="end">
      <FilterText
        w={160}
        label="Who"
        maxLength={255}
        value={search.who}
        onChange={(who) => onChange({ ...search, who: who === '' ? undefined : who })}
      />
      <NativeSelect
        size="xs"
        w={130}
        label="Act"
        value={search.act ?? ''}
        data={[{ value: '', label: 'Any' }, ...ACTS]}
        onChange={({ currentTarget: { value } }) =>
          onChange({ ...search, act: value === '' ? undefined : value })
        }
      />
      <TextInput
        size="xs"
        w={200}
        type="datetime-local"
        label="From (UTC)"
        value={(search.from ?? '').slice(0, MINUTES)}
        onChange={({ currentTarget: { value } }) =>
          onChange({ ...search, from: value === '' ? undefined : `${value.slice(0, MINUTES)}:00Z` })
        }
      />
    </Group>
  );
}

/** Characters of `2026-11-30T09:15`. */
const MINUTES = 16;
