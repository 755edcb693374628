import type { JobLine } from '@brine/api/jobs';
import { useNavigate } from '@tanstack/react-router';
import { LedgerBar } from '../../parts/bars/ledger-bar.tsx';
import { useNow } from '../../parts/now.ts';
import { jobTimes } from '../../state/job/time-track.ts';

interface JobBarProps {
  readonly job: JobLine;
  /** Pixels. */
  readonly width: number;
}

/** The bar of a job in a list: a click shows its minions of one state. */
export function JobBar({ job, width }: JobBarProps) {
  const navigate = useNavigate();
  const nowMs = useNow();
  return (
    <LedgerBar
      counts={job.counts}
      width={width}
      times={jobTimes(job, nowMs, undefined)}
      onPick={(state) =>
        void navigate({
          to: '/jobs/$jid',
          params: { jid: job.jid },
          search: { tab: 'minions', state },
        })
      }
    />
  );
}
