import { Group, Stack, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { jobQuery } from '../../api/jobs.ts';
import { usePolling, useTopic } from '../../live/use-live.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { Given } from '../../parts/given.tsx';
import { LedgerBar, LedgerNumbers } from '../../parts/ledger-bar.tsx';
import { Sourced } from '../../parts/panel.tsx';
import { liveLedger } from '../../state/ledger.ts';

const route = getRouteApi('/jobs/$jid');

/** Who did not do it, and why? */
export function JobPage() {
  const { jid } = route.useParams();
  const { at } = route.useSearch();
  const navigate = route.useNavigate();
  const queries = useQueryClient();
  const query = jobQuery(jid, at);
  const job = useQuery({ ...query, refetchInterval: usePolling(`job:${jid}`) });
  useTopic(at === undefined ? `job:${jid}` : undefined, (message) => {
    if (message.event !== 'job') return;
    const { counts } = message.data;
    queries.setQueryData(query.queryKey, (old) =>
      old === undefined || counts === null
        ? old
        : { ...old, counts: liveLedger(old.counts, counts) },
    );
  });
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={1}>
          <Given text={job.data?.fun.join(', ') ?? jid} />
        </Title>
        <CopyMenu path={`/jobs/${jid}`} command={`salt-run jobs.list_job ${jid}`} />
      </Group>
      <Sourced source={job}>
        {job.data !== undefined && (
          <>
            <LedgerBar counts={job.data.counts} />
            <LedgerNumbers
              counts={job.data.counts}
              onPick={(state) => void navigate({ search: { tab: 'minions', state } })}
            />
          </>
        )}
      </Sourced>
    </Stack>
  );
}
