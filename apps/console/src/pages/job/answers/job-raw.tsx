import { Group, Stack, Switch, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useInfiniteQuery } from '@tanstack/react-query';
import { ApiError } from '../../../api/ask.ts';
import { jobMinionsQuery, jobReturnQuery, returnPath } from '../../../api/job.ts';
import { CopyMenu } from '../../../parts/copy-menu.tsx';
import { FilterText } from '../../../parts/filter-text.tsx';
import { GivenLines, shown } from '../../../parts/given.tsx';
import { Empty, Sourced } from '../../../parts/panel.tsx';
import { shellLine } from '../../../state/shell-word.ts';
import { useJobSearch } from '../use-job-search.ts';
import { Scrolled } from './return-view.tsx';

/** One return as `/v1` has it. */
export function JobRaw() {
  const { jid, search, change } = useJobSearch();
  const minions = useInfiniteQuery(jobMinionsQuery(jid, { state: undefined, q: undefined }));
  const first = minions.data?.pages[0]?.items.find(({ returned }) => returned !== null)?.id;
  const id = search.open ?? first;
  return (
    <Stack gap="sm">
      <Group align="end">
        <FilterText label="Minion" value={id} onChange={(open) => change({ open })} />
        <Switch
          size="sm"
          label="Also other returns of it, which do not count"
          checked={search.evidence === 'true'}
          onChange={({ currentTarget }) =>
            change({ evidence: currentTarget.checked ? 'true' : '' })
          }
        />
        {id !== undefined && (
          <CopyMenu
            path={returnPath(jid, id)}
            command={shellLine('salt-run', 'jobs.lookup_jid', jid)}
          />
        )}
      </Group>
      {id === undefined ? (
        <Empty>No minion has returned yet. What one gave will be here as JSON.</Empty>
      ) : (
        <RawReturn id={id} isWhole={search.evidence === 'true'} />
      )}
    </Stack>
  );
}

function RawReturn({ id, isWhole }: { readonly id: string; readonly isWhole: boolean }) {
  const { jid } = useJobSearch();
  const given = useQuery(jobReturnQuery(jid, id, isWhole));
  if (given.error instanceof ApiError && given.error.code === 'not-found') {
    return <Empty>This minion has not returned.</Empty>;
  }
  return (
    <Sourced source={given}>
      <Scrolled label={`Return of ${shown(id, 100)} as JSON`}>
        <GivenLines text={JSON.stringify(given.data, undefined, 2) ?? ''} />
      </Scrolled>
      <Text size="xs" c="dimmed">
        Long values are cut here. Copy the call of curl for all of it.
      </Text>
    </Sourced>
  );
}
