import { Group, List } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { jobsQuery } from '../../api/jobs.ts';
import { Given } from '../../parts/given.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { When } from '../../parts/when.tsx';
import { FreshJobsButton } from '../jobs/fresh-jobs-button.tsx';
import { JobBar } from '../jobs/job-bar.tsx';
import { useLiveJobs } from '../jobs/live-jobs.ts';

const OPEN = { state: 'open' } as const;
const SHOWN_MAX = 10;
const BAR_PX = 140;

/** Jobs that wait for minions. */
export function OpenJobsPanel() {
  const jobs = useInfiniteQuery(jobsQuery(OPEN));
  const { rows, fresh, show } = useLiveJobs(OPEN, jobs.data);
  return (
    <Panel
      title="Open jobs"
      source={jobs}
      actions={
        <Group gap="xs">
          <FreshJobsButton fresh={fresh} show={show} />
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
          {rows.slice(0, SHOWN_MAX).map((job) => (
            <List.Item key={job.jid}>
              <Group gap="xs" justify="space-between" align="center">
                <PageLink path={`/jobs/${job.jid}`}>
                  <Given text={`${job.fun.join(', ')} ${(job.tgt ?? []).join(',')}`} max={60} />
                </PageLink>
                <Group gap="xs" wrap="nowrap">
                  <When time={job.published} />
                  <JobBar job={job} width={BAR_PX} />
                </Group>
              </Group>
            </List.Item>
          ))}
        </List>
      )}
    </Panel>
  );
}
