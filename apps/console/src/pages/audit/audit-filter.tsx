import { Group, NativeSelect } from '@mantine/core';
import { FilterText } from '../../parts/filter-text.tsx';
import { TimeField } from '../../parts/time-field.tsx';

/** Acts on record, as `/v1/audit` calls them. */
const ACTS = ['login', 'key', 'publish', 'runner', 'wheel', 'token', 'request', 'read'] as const;

/** What acts are looked for. */
export interface AuditSearch {
  readonly who?: string | undefined;
  readonly act?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
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
      <TimeField
        label="From"
        example="1d, 02:13"
        value={search.from ?? ''}
        onChange={(from) => onChange({ ...search, from: from === '' ? undefined : from })}
      />
      <TimeField
        label="To"
        example="now"
        value={search.to ?? ''}
        onChange={(to) => onChange({ ...search, to: to === '' ? undefined : to })}
      />
    </Group>
  );
}
