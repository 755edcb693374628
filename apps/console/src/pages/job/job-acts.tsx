import type { Job } from '@brine/api/jobs';
import { Button, Menu } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { meQuery } from '../../api/session.ts';
import { NotEnabled } from '../../parts/not-enabled.tsx';
import type { LedgerState } from '../../state/ledger.ts';
import { mayRun, reaches } from '../../state/rights.ts';
import { ActDialog, type JobAct } from './act-dialog.tsx';

const NUMBER = new Intl.NumberFormat('en');

/** Which minions a job may be run on again. */
const RERUNS: readonly { readonly name: string; readonly states: readonly LedgerState[] }[] = [
  { name: 'Failed', states: ['failed'] },
  { name: 'Missing (never returned)', states: ['never'] },
  { name: 'Failed and missing', states: ['failed', 'never'] },
];

/** What one can do with a job: run it again on some minions, end it on others. */
export function JobActs({ job }: { readonly job: Job }) {
  const me = useQuery(meQuery);
  const [act, setAct] = useState<JobAct>();
  const countOf = (states: readonly LedgerState[]): number =>
    states.reduce((sum, state) => sum + job.counts[state], 0);
  const may = (fun: string): boolean => me.data !== undefined && mayRun(me.data, fun);
  const mayRerun = job.fun.every(may);
  const wouldRerun = job.fun.every((fun) => reaches(me.data?.rights ?? [], fun));
  const silent = countOf(['waiting', 'never']);
  const signals = (['term', 'kill'] as const).filter((one) => may(`saltutil.${one}_job`));
  return (
    <>
      {mayRerun && (
        <Menu>
          <Menu.Target>
            <Button size="compact-sm" variant="default">
              Rerun ▾
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {RERUNS.map(({ name, states }) => (
              <Menu.Item
                key={name}
                disabled={countOf(states) === 0}
                onClick={() => setAct({ is: 'rerun', states, name })}
              >
                {name}: {NUMBER.format(countOf(states))}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
      {silent > 0 && signals.length > 0 && (
        <Menu>
          <Menu.Target>
            <Button size="compact-sm" variant="default">
              End ▾
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {signals.map((one) => (
              <Menu.Item
                key={one}
                onClick={() =>
                  setAct({ is: one, states: ['waiting', 'never'], name: SIGNALS[one] })
                }
              >
                {SIGNALS[one]}: {NUMBER.format(silent)} silent minions
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
      {wouldRerun && <NotEnabled act="job" />}
      {act !== undefined && <ActDialog job={job} act={act} onClose={() => setAct(undefined)} />}
    </>
  );
}

const SIGNALS = { term: 'Terminate (SIGTERM)', kill: 'Kill (SIGKILL)' } as const;
