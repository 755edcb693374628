import { Group, Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { failuresQuery } from '../../api/reactor.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { FilterText } from '../../parts/filter-text.tsx';
import { Panel } from '../../parts/panel.tsx';
import { shellLine } from '../../state/shell-word.ts';
import { EntriesPanel } from './entries-panel.tsx';
import { Failures } from './failures.tsx';

/** Failures come without a word: asked again after this, ms. Each time a runner runs. */
const AGAIN_MS = 30_000;
const NUMBER = new Intl.NumberFormat('en');

const route = getRouteApi('/reactor');

/** Did it react? */
export function ReactorPage() {
  const { tag } = route.useSearch();
  const navigate = route.useNavigate();
  const failures = useQuery({ ...failuresQuery(tag), refetchInterval: AGAIN_MS });
  const { counted = 0, waiting = 0 } = failures.data ?? {};
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Reactor</Title>
        <CopyMenu
          path="/reactor/failures"
          query={{ tag }}
          command={shellLine(
            'salt-run',
            'reactor.failed',
            ...(tag === undefined ? [] : [`tag=${tag}`]),
          )}
        />
      </Group>
      <Panel
        title={
          failures.data === undefined
            ? 'Failed reactions'
            : `Failed reactions: ${NUMBER.format(counted)} so far, ` +
              `${NUMBER.format(waiting)} events wait`
        }
        source={failures}
        actions={
          <FilterText
            aria-label="Tags of failures"
            placeholder="salt/job/*"
            value={tag}
            onChange={(text) => void navigate({ search: { tag: text }, replace: true })}
          />
        }
      >
        <Failures items={failures.data?.items ?? []} tag={tag} />
      </Panel>
      <EntriesPanel />
    </Stack>
  );
}
