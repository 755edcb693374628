import { Alert, Group, Stack, Tabs, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { jobAtQuery, jobQuery } from '../../api/job.ts';
import { CopyMenu } from '../../parts/copy-menu.tsx';
import { Given } from '../../parts/given.tsx';
import { Sourced } from '../../parts/panel.tsx';
import { cameOf, liveLedger } from '../../state/ledger.ts';
import { shellLine } from '../../state/shell-word.ts';
import { JobAnswers } from './answers/job-answers.tsx';
import { JobRaw } from './answers/job-raw.tsx';
import { ReturnDrawer } from './answers/return-drawer.tsx';
import { beganBy } from './began-by.ts';
import { JobEvents } from './course/job-events.tsx';
import { JobStates } from './course/job-states.tsx';
import { JobTrace } from './course/job-trace.tsx';
import { JobWhy } from './course/job-why.tsx';
import { JobActs } from './job-acts.tsx';
import { JobAt } from './job-at.tsx';
import { JobHead } from './job-head.tsx';
import { JobLedger } from './job-ledger.tsx';
import { JobMinions } from './job-minions.tsx';
import { JobProgress } from './job-progress.tsx';
import { JOB_TABS, type JobTab, tabOf } from './job-search.ts';
import { countsByDeadline } from './live-job.ts';
import { useJobSearch } from './use-job-search.ts';
import { useLiveJob } from './use-live-job.ts';

/** Who did not do it, and why? */
export function JobPage() {
  const { jid } = useJobSearch();
  // What came of another job is not of this one.
  return <OneJob key={jid} />;
}

/** A job with what came of it since, and as it was at the chosen time. */
function useShownJob() {
  const { jid, search } = useJobSearch();
  const live = useLiveJob(jid);
  const asked = useQuery(jobQuery(jid, live.counts));
  const past = useQuery(jobAtQuery(jid, search.at));
  const [sinceMs] = useState(Date.now);
  const { data } = asked;
  const job = useMemo(() => {
    if (data === undefined) return undefined;
    const counts = countsByDeadline(live, data.deadline, sinceMs);
    return counts === undefined ? data : { ...data, counts: liveLedger(data.counts, counts) };
  }, [data, live, sinceMs]);
  return { asked, past, live, job, shown: search.at === undefined ? job : past.data };
}

function OneJob() {
  const { jid, search, change } = useJobSearch();
  const { asked, past, live, job, shown } = useShownJob();
  return (
    <Stack gap="sm">
      <Group justify="space-between" align="start">
        <Title order={1}>
          <Given text={job?.fun.join(', ') ?? jid} />
        </Title>
        <Group gap="xs">
          {job !== undefined && <JobActs job={job} />}
          <CopyMenu
            path={`/jobs/${encodeURIComponent(jid)}`}
            query={{ at: search.at }}
            command={shellLine('salt-run', 'jobs.list_job', jid)}
            again={job === undefined ? undefined : beganBy(job)}
          />
        </Group>
      </Group>
      <Sourced source={asked}>
        {job !== undefined && (
          <Stack gap="sm">
            <JobHead job={job} />
            {job.part === true && (
              <Alert color="gray" p="xs">
                You may see some minions of this job. The numbers are of these alone.
              </Alert>
            )}
            {search.at !== undefined && past.error !== null && (
              <Alert color="orange" p="xs" role="status">
                {past.error.message}
              </Alert>
            )}
            {shown !== undefined && (
              <>
                <JobLedger
                  job={search.at === undefined ? job : undefined}
                  counts={shown.counts}
                  onPick={(state) => change({ tab: 'minions', state, at: '' })}
                />
              </>
            )}
            <JobAt job={job} />
            <JobProgress progress={live.progress} />
            <JobTabs
              tab={tabOf(search)}
              onTab={(tab) => change({ tab })}
              names={{ why: `Why ${job.counts.late + job.counts.never + job.counts.waiting}` }}
              panels={{
                answers: <JobAnswers job={job} came={cameOf(job.counts)} />,
                minions: <JobMinions job={job} live={live} />,
                states: <JobStates came={cameOf(job.counts)} />,
                why: <JobWhy job={job} />,
                trace: <JobTrace />,
                events: <JobEvents job={job} />,
                raw: <JobRaw />,
              }}
            />
            <ReturnDrawer />
          </Stack>
        )}
      </Sourced>
    </Stack>
  );
}

const NAMES: Readonly<Record<JobTab, string>> = {
  answers: 'Answers',
  minions: 'Minions',
  states: 'States',
  why: 'Why',
  trace: 'Trace',
  events: 'Events',
  raw: 'Raw',
};

interface JobTabsProps {
  readonly tab: JobTab;
  readonly onTab: (tab: JobTab) => void;
  /** Instead of the usual names. */
  readonly names: Partial<Record<JobTab, string>>;
  readonly panels: Readonly<Record<JobTab, ReactNode>>;
}

function JobTabs({ tab, onTab, names, panels }: JobTabsProps) {
  return (
    <Tabs
      value={tab}
      onChange={(value) => onTab(JOB_TABS.find((one) => one === value) ?? 'answers')}
      keepMounted={false}
    >
      <Tabs.List aria-label="About this job">
        {JOB_TABS.map((name) => (
          <Tabs.Tab key={name} value={name}>
            {names[name] ?? NAMES[name]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {JOB_TABS.map((name) => (
        <Tabs.Panel key={name} value={name} pt="sm">
          {panels[name]}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
