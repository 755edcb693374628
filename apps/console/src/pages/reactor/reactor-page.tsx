import { Group, Stack, TextInput, Title } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { failuresQuery } from '../../api/reactor.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { Panel } from '../../parts/panel.tsx';
import { EntriesPanel } from './entries-panel.tsx';
import { Failures } from './failures.tsx';

/** A filter waits for the end of the typing, ms. */
const TYPING_MS = 300;
/** Failures come without a word: asked again after this, ms. Each time a runner runs. */
const AGAIN_MS = 30_000;
const NUMBER = new Intl.NumberFormat('en');

const route = getRouteApi('/reactor');

/** Did it react? */
export function ReactorPage() {
  const { tag } = route.useSearch();
  const navigate = route.useNavigate();
  const failures = useQuery({ ...failuresQuery(tag), refetchInterval: AGAIN_MS });
  const type = useDebouncedCallback(
    (text: string) => void navigate({ search: { tag: text }, replace: true }),
    TYPING_MS,
  );
  const { counted = 0, waiting = 0 } = failures.data ?? {};
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>Reactor</Title>
        <CopyMenu
          path="/reactor/failures"
          query={{ tag }}
          command={`salt-run reactor.failed${tag === undefined ? '' : ` tag='${tag}'`}`}
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
          <TextInput
            size="xs"
            aria-label="Tags of failures"
            placeholder="salt/job/*"
            defaultValue={tag ?? ''}
            onChange={({ currentTarget }) => type(currentTarget.value)}
          />
        }
      >
        <Failures items={failures.data?.items ?? []} tag={tag} />
      </Panel>
      <EntriesPanel />
    </Stack>
  );
}
