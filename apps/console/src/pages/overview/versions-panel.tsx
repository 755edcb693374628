import type { Overview } from '@brine/api/fleet';
import { Group, Progress, Stack, Text } from '@mantine/core';
import { Given } from '../../parts/given.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { Empty, Panel, type Source } from '../../parts/panel.tsx';

const NUMBER = new Intl.NumberFormat('en');

interface VersionsPanelProps {
  readonly source: Source;
  readonly overview: Overview | undefined;
}

/** Which releases of Salt the minions run. */
export function VersionsPanel({ source, overview }: VersionsPanelProps) {
  const facet = overview?.fleet.facets.grains.find(({ name }) => name === 'saltversion');
  const { values = [], others = 0 } = facet ?? {};
  const all = values.reduce((sum, { count }) => sum + count, others);
  return (
    <Panel title="Versions" source={source}>
      {all === 0 ? (
        <Empty command="salt '*' saltutil.refresh_grains">
          No minion has sent its grains. They send them when they start, and by:
        </Empty>
      ) : (
        <Stack gap={4}>
          {values.map(({ value, count }) => (
            <Group key={value} gap="xs" wrap="nowrap">
              <div style={{ flex: '0 0 6rem' }}>
                <PageLink path="/minions" search={{ version: value }}>
                  <Given text={value} max={20} />
                </PageLink>
              </div>
              <Progress
                value={(count / all) * 100}
                aria-label={`${count} of ${all} minions`}
                style={{ flex: 1 }}
              />
              <Text size="sm" className="number">
                {NUMBER.format(count)}
              </Text>
            </Group>
          ))}
          {others > 0 && <Text size="sm">{NUMBER.format(others)} minions run others.</Text>}
        </Stack>
      )}
    </Panel>
  );
}
