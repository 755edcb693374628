import type { Job } from '@brine/api/jobs';
import { Code } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { usualTimeQuery } from '../../api/job.ts';
import { Given } from '../../parts/given.tsx';
import { useNow } from '../../parts/now.ts';
import { When } from '../../parts/when.tsx';
import { duration } from '../../state/times.ts';
import { argumentTexts } from './arguments.ts';
import classes from './job-head.module.css';

/** Arguments and minions of a target beyond these characters are cut. */
const TEXT_MAX = 1_000;

/** What was asked of which minions: who asked it, and when. */
export function JobHead({ job }: { readonly job: Job }) {
  const { jid, arg, tgt, tgtType, principal, user, origin, published, metadata } = job;
  return (
    <dl className={classes['facts']} aria-label="The job">
      <Fact name="Arguments">
        {arg.length === 0
          ? 'none'
          : argumentTexts(arg).map((text, at) => (
              <span key={at}>
                <Code>
                  <Given text={text} max={TEXT_MAX} />
                </Code>{' '}
              </span>
            ))}
      </Fact>
      {tgt !== undefined && (
        <Fact name={`Target (${tgtType ?? 'glob'})`}>
          <Given text={tgt.join(',')} max={TEXT_MAX} />
        </Fact>
      )}
      {(principal ?? user) !== undefined && (
        <Fact name="By">
          <Given text={principal ?? user ?? ''} />
        </Fact>
      )}
      {origin !== undefined && <Fact name="Origin">{origin}</Fact>}
      <Fact name="jid">
        <Given text={jid} />
      </Fact>
      <Fact name="Started">
        <When time={published} />
      </Fact>
      <Fact name="Deadline">
        <Deadline job={job} />
      </Fact>
      <UsualTime job={job} />
      {metadata !== undefined && (
        <Fact name="Metadata">
          <Given text={JSON.stringify(metadata)} max={TEXT_MAX} />
        </Fact>
      )}
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** How much time minions have; after it, who is silent never returned. */
function Deadline({ job: { deadline, counts } }: { readonly job: Job }) {
  const nowMs = useNow();
  if (deadline === null) return 'none';
  const leftMs = Date.parse(deadline) - nowMs;
  if (counts.waiting === 0 || leftMs <= 0) return <When time={deadline} />;
  return (
    <>
      {duration(Math.ceil(leftMs / 1_000) * 1_000)} left (<When time={deadline} />)
    </>
  );
}

/** While minions are awaited: how long this function usually takes. */
function UsualTime({ job }: { readonly job: Job }) {
  const isOpen = job.counts.waiting > 0;
  const usual = usualTimeQuery(job);
  const { data } = useQuery({ ...usual, enabled: isOpen && usual.enabled === true });
  if (!isOpen || data === undefined || data === null) return null;
  return (
    <Fact name="Expected">
      {duration(data)} <Elapsed since={job.published} />
    </Fact>
  );
}

function Elapsed({ since }: { readonly since: string }) {
  const nowMs = useNow();
  return <>, runs for {duration(Math.max(0, nowMs - Date.parse(since)))}</>;
}
