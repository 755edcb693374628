import { Button, Group, NativeSelect, Switch } from '@mantine/core';
import { FilterText } from '../../parts/filter-text.tsx';
import { TimeField } from '../../parts/time-field.tsx';
import type { EventsSearch } from './events-search.ts';
import { USUAL_FROM } from './use-event-feed.ts';

/** The kinds of events, as the API names them. */
const KINDS = [
  { value: '', label: 'all' },
  { value: 'job', label: 'jobs' },
  { value: 'ret', label: 'returns' },
  { value: 'minion', label: 'of minions' },
  { value: 'auth', label: 'log-ins of minions' },
  { value: 'key', label: 'keys' },
  { value: 'local', label: 'of the master' },
  { value: 'syndic', label: 'of syndics' },
  { value: 'hook', label: 'web hooks' },
];

const TEXTS = [
  { name: 'tag', label: 'Tag', example: 'salt/job/*' },
  { name: 'minion', label: 'Minion', example: 'web*' },
  { name: 'jid', label: 'Job', example: '' },
] as const;

interface EventsFilterProps {
  readonly search: EventsSearch;
  readonly onChange: (search: EventsSearch) => void;
}

/** Chooses events; each choice is in the address. */
export function EventsFilter({ search, onChange }: EventsFilterProps) {
  const change = (part: EventsSearch): void => onChange({ ...search, ...part });
  return (
    <Group gap="sm" align="end">
      {TEXTS.map(({ name, label, example }) => (
        <FilterText
          key={name}
          w={150}
          label={label}
          placeholder={example}
          value={search[name]}
          maxLength={200}
          onChange={(text) => change({ [name]: text })}
        />
      ))}
      <NativeSelect
        size="xs"
        label="Kind"
        data={KINDS}
        value={search.kind ?? ''}
        onChange={({ currentTarget }) => change({ kind: currentTarget.value })}
      />
      <TimeField
        label="From"
        example={`${USUAL_FROM}, 02:13`}
        value={search.from ?? ''}
        onChange={(from) => change({ from })}
      />
      <TimeField
        label="To"
        example="now"
        value={search.to ?? ''}
        onChange={(to) => change({ to, follow: '' })}
      />
      {(search.from !== undefined || search.to !== undefined) && (
        <Button size="compact-sm" variant="subtle" onClick={() => change({ from: '', to: '' })}>
          {`The last ${USUAL_FROM}`}
        </Button>
      )}
      <Switch
        size="sm"
        label="Follow"
        checked={search.follow === 'true' && search.to === undefined}
        onChange={({ currentTarget: { checked } }) =>
          change(checked ? { follow: 'true', to: '' } : { follow: '' })
        }
      />
    </Group>
  );
}
