import type { Job, Ledger } from '@brine/api/jobs';
import { useQuery } from '@tanstack/react-query';
import { usualTimeQuery } from '../../api/job.ts';
import { LedgerBar, LedgerNumbers } from '../../parts/bars/ledger-bar.tsx';
import { useNow } from '../../parts/now.ts';
import { jobTimes } from '../../state/job/time-track.ts';
import type { LedgerState } from '../../state/ledger.ts';

interface JobLedgerProps {
  /** Undefined while the ledger of an earlier time is shown. */
  readonly job: Job | undefined;
  readonly counts: Ledger;
  readonly onPick: (state: LedgerState) => void;
}

/** The ledger of a job, as a bar and as numbers; how far it is in its time. */
export function JobLedger({ job, counts, onPick }: JobLedgerProps) {
  return (
    <>
      {job === undefined ? (
        <LedgerBar counts={counts} onPick={onPick} />
      ) : (
        <TimedBar job={job} onPick={onPick} />
      )}
      <LedgerNumbers counts={counts} onPick={onPick} />
    </>
  );
}

function TimedBar({
  job,
  onPick,
}: {
  readonly job: Job;
  readonly onPick: JobLedgerProps['onPick'];
}) {
  const nowMs = useNow();
  const usual = usualTimeQuery(job);
  const { data } = useQuery({
    ...usual,
    enabled: job.counts.waiting > 0 && usual.enabled === true,
  });
  const times = jobTimes(job, nowMs, data ?? undefined);
  return <LedgerBar counts={job.counts} onPick={onPick} times={times} />;
}
