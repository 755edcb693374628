import type { Overview } from '@brine/api/fleet';
import { Button, Group, List, Text } from '@mantine/core';
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { failedJobsQuery, lastLostQuery } from '../../api/overview.ts';
import { meQuery } from '../../api/session.ts';
import { doctorQuery } from '../../api/site.ts';
import { Given } from '../../parts/given.tsx';
import { LevelSign } from '../../parts/level-sign.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Runbook } from '../../parts/runbook.tsx';
import { useStill } from '../../parts/use-still.ts';
import { When } from '../../parts/when.tsx';
import { type OddThing, oddThings } from './findings.ts';

/** What is not as it should be, each with the page or the runbook that helps. */
export function OddPanel({ overview }: { readonly overview: UseQueryResult<Overview> }) {
  const me = useQuery(meQuery);
  const doctor = useQuery({ ...doctorQuery, enabled: me.data?.readsAll === true });
  const failed = useQuery(failedJobsQuery);
  const absent = overview.data?.fleet.facets.present.no ?? 0;
  const lost = useQuery({ ...lastLostQuery(absent), enabled: absent > 0 });
  const {
    shown: things,
    isBehind,
    show,
    touch,
  } = useStill(
    oddThings({
      overview: overview.data,
      doctor: doctor.data,
      failed: failed.data,
      lostAt: lost.data,
    }),
  );
  const isKnown = overview.isSuccess && !failed.isPending;
  const title = things.length === 0 ? 'As it should be' : `Not as it should be (${things.length})`;
  return (
    <Panel
      title={isKnown ? title : 'Is all as it should be?'}
      source={overview}
      actions={
        isBehind && (
          <Button size="compact-sm" onClick={show}>
            Show what changed
          </Button>
        )
      }
    >
      {things.length === 0 ? (
        <Group gap="xs">
          <LevelSign level="ok" />
          <Text size="sm">
            Services serve, minions are connected, and no job of the last hour failed.
          </Text>
        </Group>
      ) : (
        <List listStyleType="none" spacing={4} aria-label="Not as it should be" {...touch}>
          {things.map((thing) => (
            <List.Item key={thing.id}>
              <Odd thing={thing} />
            </List.Item>
          ))}
        </List>
      )}
      <Unasked about="jobs" error={failed.error} />
      <Unasked about="the doctor" error={doctor.error} />
    </Panel>
  );
}

function Odd({ thing }: { readonly thing: OddThing }) {
  const { level, subject, text, page, runbook, since } = thing;
  return (
    <Group gap="xs" align="baseline">
      <LevelSign level={level} />
      <Text size="sm" style={{ flex: '1 1 20rem' }}>
        {subject !== undefined && <Given text={subject} />} {text}
        {since !== undefined && since !== null && (
          <>
            {', '}
            <When time={since} />
          </>
        )}
      </Text>
      {page !== undefined && (
        <PageLink path={page.path} search={page.search}>
          {page.word}
        </PageLink>
      )}
      {runbook !== undefined && <Runbook place={runbook} />}
    </Group>
  );
}

/** A source that does not answer leaves the list without its lines. */
function Unasked({ about, error }: { readonly about: string; readonly error: Error | null }) {
  if (error === null) return null;
  return (
    <Text size="sm" c="dimmed" mt="xs" role="status">
      Not known of {about}: {error.message}
    </Text>
  );
}
