import type { MinionsPage } from '@brine/api/fleet';
import { Checkbox, Fieldset, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Given } from '../../parts/given.tsx';
import {
  type FleetSearch,
  type ListName,
  toggled,
  withText,
} from '../../state/fleet/fleet-search.ts';

type Facets = NonNullable<MinionsPage['facets']>;

const NUMBER = new Intl.NumberFormat('en');
/** Values of a grain that are drawn; chosen ones always. */
const VALUES_MAX = 8;

interface FacetsProps {
  readonly facets: Facets | undefined;
  readonly search: FleetSearch;
  readonly onChange: (search: FleetSearch) => void;
}

const KEYS = [
  ['accepted', '✓ accepted'],
  ['pending', '? pending'],
  ['rejected', '✖ rejected'],
  ['denied', '! denied'],
] as const;

const PRESENCE = [
  ['true', '● connected', 'yes'],
  ['false', '○ not connected', 'no'],
] as const;

/** How many minions have which value; each filters. */
export function FleetFacets({ facets, search, onChange }: FacetsProps) {
  const { present } = search;
  return (
    <Stack gap="xs">
      <Facet title="Presence">
        {PRESENCE.map(([value, label, name]) => (
          <Value
            key={value}
            label={label}
            count={facets?.present[name]}
            isChosen={present === value}
            onToggle={() => onChange(withText(search, 'present', present === value ? '' : value))}
          />
        ))}
      </Facet>
      {facets?.grains.map((grain) => (
        <GrainFacet key={grain.name} {...grain} search={search} onChange={onChange} />
      ))}
      <Facet title="Key">
        {KEYS.map(([value, label]) => (
          <Value
            key={value}
            label={label}
            count={facets?.key[value]}
            isChosen={search.key?.includes(value) === true}
            onToggle={() => onChange(toggled(search, 'key', value))}
          />
        ))}
      </Facet>
    </Stack>
  );
}

const TITLES = {
  os: 'OS',
  osrelease: 'Release',
  kernel: 'Kernel',
  saltversion: 'Version',
} as const;

function GrainFacet({
  name,
  values,
  others,
  search,
  onChange,
}: Facets['grains'][number] & Omit<FacetsProps, 'facets'>) {
  const parameter: ListName = name === 'os' ? 'os' : name === 'saltversion' ? 'version' : 'grain';
  const textOf = (value: string): string => (parameter === 'grain' ? `${name}:${value}` : value);
  const isChosen = (value: string): boolean => search[parameter]?.includes(textOf(value)) === true;
  const drawn = values.filter(({ value }, at) => at < VALUES_MAX || isChosen(value));
  const more = values.length - drawn.length + others;
  if (values.length === 0) return null;
  return (
    <Facet title={TITLES[name]}>
      {drawn.map(({ value, count }) => (
        <Value
          key={value}
          label={<Given text={value} max={40} />}
          count={count}
          isChosen={isChosen(value)}
          onToggle={() => onChange(toggled(search, parameter, textOf(value)))}
        />
      ))}
      {more > 0 && (
        <Text size="xs" c="dimmed">
          {NUMBER.format(more)} more values
        </Text>
      )}
    </Facet>
  );
}

function Facet({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <Fieldset legend={title} p="xs">
      <Stack gap={4}>{children}</Stack>
    </Fieldset>
  );
}

interface ValueProps {
  readonly label: ReactNode;
  readonly count: number | undefined;
  readonly isChosen: boolean;
  readonly onToggle: () => void;
}

function Value({ label, count, isChosen, onToggle }: ValueProps) {
  return (
    <Group justify="space-between" wrap="nowrap" gap="xs">
      <Checkbox size="xs" label={label} checked={isChosen} onChange={onToggle} />
      <Text size="xs" className="number">
        {count === undefined ? '…' : NUMBER.format(count)}
      </Text>
    </Group>
  );
}
