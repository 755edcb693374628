import { Button, Group, List } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { jobsQuery } from '../../api/jobs.ts';
import { Given } from '../../parts/given.tsx';
import { LedgerBar } from '../../parts/ledger-bar.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { When } from '../../parts/when.tsx';
import { useLiveJobs } from '../jobs/live-jobs.ts';

const OPEN = { state: 'open' } as const;
const SHOWN_MAX = 10;
const BAR_PX = 140;
const NUMBER = new Intl.NumberFormat('en');

/** Jobs that wait for minions. */
export function OpenJobsPanel() {
  const jobs = useInfiniteQuery(jobsQuery(OPEN));
  const { began, show } = useLiveJobs(OPEN);
  const rows = jobs.data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <Panel
      title="Open jobs"
      source={jobs}
      actions={
        <Group gap="xs">
          {began > 0 && (
            <Button size="compact-sm" onClick={show}>
              {`Show ${NUMBER.format(began)} new`}
            </Button>
          )}
          <PageLink path="/jobs" search={OPEN}>
            all
          </PageLink>
        </Group>
      }
    >
      {rows.length === 0 ? (
        <Empty command="salt '*' test.ping">No job waits for minions. A command makes one:</Empty>
      ) : (
        <List listStyleType="none" spacing={4} aria-label="Open jobs">
          {rows.slice(0, SHOWN_MAX).map(({ jid, fun, tgt = [], published, counts }) => (
            <List.Item key={jid}>
              <Group gap="xs" justify="space-between" align="center">
                <PageLink path={`/jobs/${jid}`}>
                  <Given text={`${fun.join(', ')} ${tgt.join(',')}`} max={60} />
                </PageLink>
                <Group gap="xs" wrap="nowrap">
                  <When time={published} />
                  <LedgerBar counts={counts} width={BAR_PX} />
                </Group>
              </Group>
            </List.Item>
          ))}
        </List>
      )}
    </Panel>
  );
}
