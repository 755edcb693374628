import type { Overview } from '@brine/api/fleet';
import { CloseButton, Code, Group, List, Text } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { jobsQuery } from '../../api/jobs.ts';
import { isYoungQuery } from '../../api/overview.ts';
import { meQuery } from '../../api/session.ts';
import { configQuery } from '../../api/site.ts';
import { NotEnabled } from '../../parts/not-enabled.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { Panel } from '../../parts/panel.tsx';
import {
  FIRST_STEPS,
  type FirstStep,
  keepFirstMinute,
  masterPlace,
  minionLines,
  readFirstMinute,
  silentJob,
  stepsDone,
} from '../../state/first-minute.ts';
import { mayCall, mayRun } from '../../state/rights.ts';
import { PingButton } from './ping-button.tsx';

const PINGS = { fun: 'test.ping' } as const;
/** What may be done beside the page, as a run of `npm start`, is seen so soon, ms. */
const AGAIN_MS = 5_000;

/** Five steps that tick themselves, while the master is new. */
export function FirstMinutePanel({ overview }: { readonly overview: Overview | undefined }) {
  const [kept, setKept] = useState(readFirstMinute);
  const isWanted = !kept.isDismissed;
  const young = useQuery({ ...isYoungQuery, enabled: isWanted });
  const isShown = isWanted && young.data === true && overview !== undefined;
  const pings = useInfiniteQuery({
    ...jobsQuery(PINGS),
    enabled: isShown,
    refetchInterval: AGAIN_MS,
  });
  if (!isShown) return null;
  const jobs = pings.data?.pages.flatMap(({ items }) => items) ?? [];
  const done = stepsDone(overview, jobs.length, kept);
  const dismiss = (): void => {
    const next = { ...kept, isDismissed: true };
    keepFirstMinute(next);
    setKept(next);
  };
  const jid = jobs[0]?.jid;
  const missing = silentJob(jobs, pings.dataUpdatedAt);
  const bodies: Readonly<Record<FirstStep, ReactNode>> = {
    minions: <Minions overview={overview} />,
    ping: <Ping />,
    trace: <Trace jid={jid} />,
    why: <Why jid={missing} />,
    own: <Own overview={overview} />,
  };
  return (
    <Panel
      title={`The first minute: ${done.size} of ${FIRST_STEPS.length}`}
      actions={
        <CloseButton size="sm" aria-label="Do not show the first minute" onClick={dismiss} />
      }
    >
      <List type="ordered" spacing="xs" listStyleType="none" aria-label="Steps">
        {FIRST_STEPS.map((step) => (
          <List.Item key={step} data-step={step} data-done={done.has(step)}>
            <Group gap="xs" align="baseline" wrap="nowrap">
              <Tick isDone={done.has(step)} />
              <div>{bodies[step]}</div>
            </Group>
          </List.Item>
        ))}
      </List>
    </Panel>
  );
}

function Tick({ isDone }: { readonly isDone: boolean }) {
  return (
    <Text
      span
      size="sm"
      fw={600}
      c={isDone ? 'var(--state-returned)' : 'var(--state-waiting)'}
      style={{ whiteSpace: 'nowrap' }}
    >
      <span aria-hidden>{isDone ? '●' : '○'}</span> {isDone ? 'done' : 'to do'}
    </Text>
  );
}

function Minions({ overview }: { readonly overview: Overview }) {
  const { accepted, pending } = overview.fleet.facets.key;
  return (
    <Text size="sm">
      Two minions are here: {accepted} accepted
      {pending > 0 && (
        <>
          {', '}
          <PageLink path="/keys" search={{ state: 'pending' }}>
            {pending} to accept
          </PageLink>
        </>
      )}
      . <PageLink path="/minions">See them</PageLink>
    </Text>
  );
}

function Ping() {
  const me = useQuery(meQuery);
  return (
    <Group gap="xs">
      <Text size="sm">
        Run <Code>test.ping</Code>
      </Text>
      {me.data !== undefined && mayRun(me.data, 'test.ping') && <PingButton />}
      <NotEnabled act="job" />
    </Group>
  );
}

function Trace({ jid }: { readonly jid: string | undefined }) {
  return (
    <Text size="sm">
      See its way through the services:{' '}
      {jid === undefined ? (
        'there is no job yet'
      ) : (
        <PageLink path={`/jobs/${jid}`} search={{ tab: 'trace' }}>
          open its trace
        </PageLink>
      )}
    </Text>
  );
}

function Why({ jid }: { readonly jid: string | undefined }) {
  return (
    <Text size="sm">
      Stop minion two (<Code>npm start</Code> prints how). Then run <Code>test.ping</Code> and{' '}
      {jid === undefined ? (
        'ask why it did not answer'
      ) : (
        <PageLink path={`/jobs/${jid}`} search={{ tab: 'why' }}>
          ask why it did not answer
        </PageLink>
      )}
    </Text>
  );
}

/** The lines of a minion's configuration, with the address of this master. */
function Own({ overview }: { readonly overview: Overview }) {
  const me = useQuery(meQuery);
  const mayAsk = me.data !== undefined && mayCall(me.data, 'wheel', 'config.values');
  const config = useQuery({ ...configQuery, enabled: mayAsk });
  const place = masterPlace(config.data?.values, window.location.hostname);
  const { pending } = overview.fleet.facets.key;
  return (
    <>
      <Text size="sm">
        Connect your own minion, by three lines of its <Code>/etc/salt/minion</Code>
        {place.isLocal && ' (this master listens on the loopback: on this host alone)'}
        {!place.isKnown && ' (the port is the usual one: ret_port is not known)'}
      </Text>
      <Code block>{minionLines(place).join('\n')}</Code>
      {pending > 0 && (
        <PageLink path="/keys" search={{ state: 'pending' }}>
          accept its key
        </PageLink>
      )}
    </>
  );
}
