import type { Overview } from '@brine/api/fleet';
import { Group, Progress, Text } from '@mantine/core';
import { LevelSign } from '../../parts/level-sign.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { Empty, Panel, type Source } from '../../parts/panel.tsx';

const NUMBER = new Intl.NumberFormat('en');

interface FleetPanelProps {
  readonly source: Source;
  readonly overview: Overview | undefined;
}

/** How many minions there are, and how many of them are connected. */
export function FleetPanel({ source, overview }: FleetPanelProps) {
  const facets = overview?.fleet.facets;
  const { yes = 0, no = 0 } = facets?.present ?? {};
  const { pending = 0 } = facets?.key ?? {};
  const all = yes + no;
  const part = all === 0 ? 0 : (yes / all) * 100;
  const sentence = `${NUMBER.format(yes)} of ${NUMBER.format(all)} minions connected`;
  return (
    <Panel
      title={overview === undefined ? 'Fleet' : `Fleet: ${NUMBER.format(all)} accepted`}
      source={source}
    >
      {all === 0 ? (
        <Empty command="salt-key -L">
          No minion is accepted yet. Keys that wait are listed by:
        </Empty>
      ) : (
        <>
          <Progress.Root size="lg" role="img" aria-label={sentence}>
            <Progress.Section value={part} color="var(--state-returned)" withAria={false} />
            <Progress.Section
              value={100 - part}
              color="var(--state-failed)"
              striped
              withAria={false}
            />
          </Progress.Root>
          <Group gap="md" mt="xs" className="number">
            <PageLink path="/minions" search={{ present: 'true' }}>
              <LevelSign level="ok" word={`${NUMBER.format(yes)} connected`} />
            </PageLink>
            <PageLink path="/minions" search={{ present: 'false' }}>
              <LevelSign
                level={no === 0 ? 'ok' : 'bad'}
                word={`${NUMBER.format(no)} not connected`}
              />
            </PageLink>
            {pending > 0 && (
              <PageLink path="/keys" search={{ state: 'pending' }}>
                <LevelSign level="warn" word={`${NUMBER.format(pending)} keys waiting`} />
              </PageLink>
            )}
          </Group>
        </>
      )}
      {overview?.services !== undefined && overview.services !== null && (
        <Text size="sm" mt="xs">
          {NUMBER.format(overview.services.filter(({ ready }) => ready).length)} of{' '}
          {NUMBER.format(overview.services.length)} services ready ·{' '}
          <PageLink path="/services">services</PageLink>
        </Text>
      )}
    </Panel>
  );
}
