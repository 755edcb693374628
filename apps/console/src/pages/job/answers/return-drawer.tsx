import { Drawer, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ApiError } from '../../../api/ask.ts';
import { jobReturnQuery, returnPath } from '../../../api/job.ts';
import { CopyMenu } from '../../../parts/copy-menu.tsx';
import { Given } from '../../../parts/given.tsx';
import { Empty, Sourced } from '../../../parts/panel.tsx';
import { When } from '../../../parts/when.tsx';
import { shellLine } from '../../../state/shell-word.ts';
import { tabOf } from '../job-search.ts';
import { useJobSearch } from '../use-job-search.ts';
import { givenOf } from './return-text.ts';
import { ReturnView } from './return-view.tsx';

/** What one minion returned, beside the page. The tab Raw shows the same minion by itself. */
export function ReturnDrawer() {
  const { search, change } = useJobSearch();
  const { open } = search;
  return (
    <Drawer
      position="right"
      size="xl"
      opened={open !== undefined && tabOf(search) !== 'raw'}
      onClose={() => change({ open: '' })}
      title={open === undefined ? '' : <Given text={open} />}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {open !== undefined && <OneReturn id={open} />}
    </Drawer>
  );
}

function OneReturn({ id }: { readonly id: string }) {
  const { jid } = useJobSearch();
  const given = useQuery(jobReturnQuery(jid, id));
  if (given.error instanceof ApiError && given.error.code === 'not-found') {
    return <Empty>It has not returned. The tab Why has the cause, if it is late.</Empty>;
  }
  return (
    <Sourced source={given}>
      {given.data !== undefined && (
        <Stack gap="xs">
          <Group justify="space-between">
            <Text size="sm">
              returned <When time={given.data.returned} />
              <Retcode load={given.data.load} />
            </Text>
            <CopyMenu
              path={returnPath(jid, id)}
              command={shellLine('salt-run', 'jobs.lookup_jid', jid)}
            />
          </Group>
          <ReturnView value={givenOf(given.data.load)} id={id} />
        </Stack>
      )}
    </Sourced>
  );
}

function Retcode({ load }: { readonly load: unknown }) {
  if (typeof load !== 'object' || load === null || !('retcode' in load)) return null;
  return <>, retcode {JSON.stringify(load.retcode)}</>;
}
