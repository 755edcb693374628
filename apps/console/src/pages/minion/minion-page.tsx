import { Button, Group, Stack, Tabs, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { pathOf } from '../../api/ask.ts';
import { minionQuery, type PartName } from '../../api/minions.ts';
import { usePolling, useTopic } from '../../live/use-live.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { Given } from '../../parts/given.tsx';
import { Sourced } from '../../parts/panel.tsx';
import { windowTopic } from '../../state/fleet/fleet-search.ts';
import { shellLine } from '../../state/shell-word.ts';
import { MinionFacts } from './minion-facts.tsx';
import { MinionJobs } from './minion-jobs.tsx';
import { MinionKey } from './minion-key.tsx';
import { MinionPartPanel } from './minion-part.tsx';

const TABS: readonly (readonly [PartName, string])[] = [
  ['grains', 'Grains'],
  ['pillar', 'Pillar'],
  ['mine', 'Mine'],
  ['schedule', 'Schedule'],
  ['beacons', 'Beacons'],
];
const JOBS = 'jobs';
/** An id that no topic can have is asked for again after this, ms. */
const POLL_MS = 15_000;

const route = getRouteApi('/minions/$id');

/** What is with this one? */
export function MinionPage() {
  const { id } = route.useParams();
  const minion = useMinion(id);
  // Without an accepted key nothing else is known of it, and nothing else is asked.
  const isAccepted = minion.data?.key === 'accepted';
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>
          <Given text={id} />
        </Title>
        <Group gap="xs">
          {isAccepted && (
            <Button
              size="compact-sm"
              variant="default"
              component={Link}
              to="/run"
              search={{ tgt: id, tgtType: 'list' } as never}
            >
              Run on this one
            </Button>
          )}
          <CopyMenu
            path={`/minions${pathOf(id)}`}
            command={shellLine('salt', '-L', id, 'test.ping')}
          />
        </Group>
      </Group>
      <Sourced source={minion}>
        {minion.data !== undefined && <MinionFacts minion={minion.data} />}
      </Sourced>
      {minion.data !== undefined && (isAccepted ? <MinionTabs id={id} /> : <MinionKey id={id} />)}
    </Stack>
  );
}

/** What is known of a minion, by parts. */
function MinionTabs({ id }: { readonly id: string }) {
  const { tab = JOBS, q = '', state } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Tabs
      value={tab}
      onChange={(next) => void navigate({ search: { tab: next ?? JOBS }, replace: true })}
      keepMounted={false}
    >
      <Tabs.List aria-label="What is known of it">
        <Tabs.Tab value={JOBS}>Jobs</Tabs.Tab>
        {TABS.map(([name, title]) => (
          <Tabs.Tab key={name} value={name}>
            {title}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={JOBS} pt="sm">
        <MinionJobs
          id={id}
          state={state}
          onState={(next) =>
            void navigate({
              search: { tab: JOBS, ...(next === undefined ? {} : { state: next }) },
              replace: true,
            })
          }
        />
      </Tabs.Panel>
      {TABS.map(([name, title]) => (
        <Tabs.Panel key={name} value={name} pt="sm">
          <MinionPartPanel
            key={id}
            id={id}
            part={name}
            title={title}
            word={q}
            onWord={(word) =>
              void navigate({
                search: { tab: name, ...(word === '' ? {} : { q: word }) },
                replace: true,
              })
            }
          />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

/** A minion as it is now: a window with its row has what changes. */
function useMinion(id: string) {
  const queries = useQueryClient();
  const query = minionQuery(id);
  // A pattern that this id fits, and few others: a part of an id would fit many.
  const topic = /[*?[\]]/.test(id) ? undefined : windowTopic({ q: `?${id.slice(1)}` }, 0, 0);
  const polling = usePolling(topic ?? '');
  const refetchInterval = topic === undefined ? POLL_MS : polling;
  useTopic(topic, (message) => {
    if (message.event === 'reset') void queries.invalidateQueries({ queryKey: query.queryKey });
    if (message.event !== 'rows') return;
    const row = message.data.rows.find(({ minion }) => minion.id === id)?.minion;
    if (row === undefined) return;
    queries.setQueryData(query.queryKey, (old) => (old === undefined ? old : { ...old, ...row }));
  });
  return useQuery({ ...query, refetchInterval });
}
