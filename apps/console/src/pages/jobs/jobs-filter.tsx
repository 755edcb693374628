import type { JobLine } from '@brine/api/jobs';
import { Group, NativeSelect, SegmentedControl, Switch } from '@mantine/core';
import { FilterText } from '../../parts/filter-text.tsx';
import { TimeField } from '../../parts/time-field.tsx';
import type { JobsSearch } from './jobs-search.ts';

/** What the first choice means in the address. */
const RESULTS: Readonly<Record<string, JobsSearch>> = {
  all: {},
  open: { state: 'open' },
  failed: { result: 'failed' },
  late: { result: 'late' },
  never: { result: 'never' },
};

const TEXTS = [
  { name: 'fun', label: 'Function', example: 'state.*' },
  { name: 'tgt', label: 'Target', example: 'web*' },
  { name: 'user', label: 'User', example: '' },
  { name: 'minion', label: 'Minion', example: '' },
] as const;

const TIMES = [
  { name: 'from', label: 'From', example: '1d, 02:13' },
  { name: 'to', label: 'To', example: 'now' },
] as const;

/** What began a job, in words. */
const ORIGINS: Readonly<Record<NonNullable<JobLine['origin']>, string>> = {
  cli: 'command line',
  api: 'api',
  minion: 'minion',
  schedule: 'schedule',
  reactor: 'reactor',
  run: 'run',
  publication: 'publication',
  pgjsonb: 'pgjsonb',
  syndic: 'syndic',
  return: 'return alone',
};

interface JobsFilterProps {
  readonly search: JobsSearch;
  readonly onChange: (search: JobsSearch) => void;
}

/** Chooses jobs; each choice is in the address. */
export function JobsFilter({ search, onChange }: JobsFilterProps) {
  const change = (part: JobsSearch): void => onChange({ ...search, ...part });
  const { state, result, ...others } = search;
  return (
    <Group gap="sm" align="end">
      <div className="choices">
        <SegmentedControl
          aria-label="Which jobs"
          size="xs"
          value={result ?? state ?? 'all'}
          data={[
            { value: 'all', label: 'All' },
            { value: 'open', label: 'Open' },
            { value: 'failed', label: '✖ Failed' },
            { value: 'late', label: '◐ Late' },
            { value: 'never', label: '▢ Never' },
          ]}
          onChange={(value) => onChange({ ...others, ...RESULTS[value] })}
        />
      </div>
      {TEXTS.map(({ name, label, example }) => (
        <FilterText
          key={name}
          w={130}
          label={label}
          placeholder={example}
          value={search[name]}
          onChange={(text) => change({ [name]: text })}
        />
      ))}
      <NativeSelect
        size="xs"
        label="Origin"
        value={search.origin ?? ''}
        data={[
          { value: '', label: 'any' },
          ...Object.entries(ORIGINS).map(([value, label]) => ({ value, label })),
        ]}
        onChange={({ currentTarget }) => change({ origin: currentTarget.value })}
      />
      {TIMES.map(({ name, label, example }) => (
        <TimeField
          key={name}
          label={label}
          example={example}
          value={search[name] ?? ''}
          onChange={(time) => change({ [name]: time })}
        />
      ))}
      <Switch
        size="sm"
        label="Also of tools"
        checked={search.hidden === 'true'}
        onChange={({ currentTarget }) => change({ hidden: currentTarget.checked ? 'true' : '' })}
      />
    </Group>
  );
}
