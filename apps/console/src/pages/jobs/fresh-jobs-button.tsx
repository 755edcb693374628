import { Button } from '@mantine/core';
import type { FreshJobs } from './fresh-jobs.ts';

const NUMBER = new Intl.NumberFormat('en');

interface FreshJobsButtonProps {
  readonly fresh: FreshJobs;
  readonly show: () => void;
}

/** Puts the jobs in a list that came since. */
export function FreshJobsButton({ fresh: { count, isMore }, show }: FreshJobsButtonProps) {
  if (count === 0 && !isMore) return null;
  const some = `Show ${NUMBER.format(count)}${isMore ? ' or more' : ''} new`;
  return (
    <Button size="compact-sm" onClick={show}>
      {count === 0 ? 'Show what is new' : some}
    </Button>
  );
}
