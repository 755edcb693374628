import type { MinionDetail } from '@brine/api/fleet';
import { Anchor, Group, SimpleGrid, Text } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { minionJobsQuery, silenceQuery } from '../../api/minions.ts';
import { Given, GivenLines } from '../../parts/given.tsx';
import { Panel, Sourced } from '../../parts/panel.tsx';
import { KeySign, PresenceSign } from '../../parts/presence-sign.tsx';
import { StateSign } from '../../parts/state-sign.tsx';
import { When } from '../../parts/when.tsx';

/** What it sent, as people say it. */
const SENT = { return: 'a return', event: 'an event', grains: 'its grains' } as const;

/** Whether it is there, who it is, and why it is silent. */
export function MinionFacts({ minion }: { readonly minion: MinionDetail }) {
  const { id, present, since, seen, key, keyChanged, hasDenied, grains, stateRun } = minion;
  return (
    <SimpleGrid cols={{ base: 1, md: 3 }} spacing="sm">
      <Panel title="Presence">
        <Fact name="Now">
          <PresenceSign present={present} />
        </Fact>
        <Fact name="Since">
          <When time={since} />
        </Fact>
        <Fact name="Source">
          {present === null ? 'No accepted key' : 'Its connection to a publisher'}
        </Fact>
        <Fact name="Last seen">
          {seen === null ? (
            'Nothing since http-api began'
          ) : (
            <>
              <When time={seen.at} /> by {SENT[seen.by]}
            </>
          )}
        </Fact>
      </Panel>
      <Panel title="Key and version">
        <Fact name="Key">
          <Group gap="xs">
            <KeySign state={key} />
            {keyChanged !== null && <When time={keyChanged} />}
            <Anchor component={Link} to="/keys" search={{ q: id, state: 'all' } as never} size="sm">
              Fingerprint
            </Anchor>
          </Group>
        </Fact>
        {hasDenied && (
          <Fact name="Denied">
            <StateSign state="failed" word="another key was offered for this id" />
          </Fact>
        )}
        <Fact name="Salt">
          <Given text={grains.saltversion ?? '–'} />
        </Fact>
        <Fact name="System">
          <Given
            text={[grains.os, grains.osrelease, grains.kernel].filter(Boolean).join(' ') || '–'}
          />
        </Fact>
        <Fact name="Last states">
          {stateRun === null ? (
            '–'
          ) : (
            <>
              <StateSign
                state={stateRun.result === 'failed' ? 'failed' : 'returned'}
                word={stateRun.result}
              />{' '}
              <JobLink jid={stateRun.jid}>
                <When time={stateRun.at} />
              </JobLink>
            </>
          )}
        </Fact>
      </Panel>
      {key === 'accepted' && <Silence id={id} present={present} />}
    </SimpleGrid>
  );
}

/** States of a job in which a minion is silent. */
const SILENT = ['waiting', 'late', 'never'] as const;

/** Why it does not answer: the cause, and its evidence, of the last job that it did not answer. */
function Silence({ id, present }: Pick<MinionDetail, 'id' | 'present'>) {
  const jobs = useInfiniteQuery(minionJobsQuery(id));
  const [newest] = jobs.data?.pages.flatMap(({ items }) => items) ?? [];
  const isSilent = (SILENT as readonly (string | undefined)[]).includes(newest?.state);
  const why = useQuery(silenceQuery(id, isSilent ? newest?.jid : undefined));
  const [cause] = why.data?.items ?? [];
  return (
    <Panel title="Why silent">
      <Sourced source={jobs}>
        {newest === undefined ? (
          <Text size="sm">
            {present === false
              ? 'It is not connected, and no job waits for it.'
              : 'No job was for it so far.'}
          </Text>
        ) : !isSilent ? (
          <Text size="sm">
            It answered last in <JobLink jid={newest.jid}>{newest.fun.join(', ')}</JobLink>,{' '}
            <When time={newest.returned} />.
          </Text>
        ) : (
          <Sourced source={why}>
            <Text size="sm" component="div">
              <JobLink jid={newest.jid}>{newest.fun.join(', ')}</JobLink>{' '}
              <When time={newest.published} />: <StateSign state={newest.state} />
              {cause !== undefined && <GivenLines text={`${cause.cause}: ${cause.text}`} />}
            </Text>
          </Sourced>
        )}
      </Sourced>
    </Panel>
  );
}

function JobLink({ jid, children }: { readonly jid: string; readonly children: ReactNode }) {
  return (
    <Anchor component={Link} to={`/jobs/${encodeURIComponent(jid)}`} size="sm">
      {typeof children === 'string' ? <Given text={children} /> : children}
    </Anchor>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <Group gap="xs" align="baseline" wrap="nowrap">
      <Text size="sm" c="dimmed" w={90} flex="none">
        {name}
      </Text>
      <Text size="sm" component="div">
        {children}
      </Text>
    </Group>
  );
}
