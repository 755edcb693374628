import type { Job } from '@brine/api/jobs';
import { Button, Code, Group, Stack, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { silencesQuery } from '../../../api/job.ts';
import { CopyMenu } from '../../../parts/copy-menu.tsx';
import { Given } from '../../../parts/given.tsx';
import { Empty, Panel, Sourced } from '../../../parts/panel.tsx';
import { shellLine } from '../../../state/shell-word.ts';
import { useJobSearch } from '../use-job-search.ts';
import { adviceFor, type CauseGroup, groupByCause } from './causes.ts';
import classes from './job-why.module.css';

const NUMBER = new Intl.NumberFormat('en');
/** Minions of a cause that are drawn, before one asks for more of them. */
const SHOWN = 20;

/** Why minions are silent, by cause. */
export function JobWhy({ job }: { readonly job: Job }) {
  const { jid } = useJobSearch();
  const why = useInfiniteQuery(silencesQuery(jid));
  const groups = useMemo(
    () => groupByCause(why.data?.pages.flatMap(({ items }) => items) ?? []),
    [why.data],
  );
  const { hasNextPage, isFetching, fetchNextPage, refetch } = why;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Button
          size="compact-sm"
          variant="default"
          loading={isFetching}
          onClick={() => void refetch()}
        >
          Ask again
        </Button>
        <CopyMenu
          path={`/jobs/${encodeURIComponent(jid)}/why`}
          command={shellLine('salt-run', 'jobs.why', jid)}
        />
      </Group>
      <Sourced source={why}>
        {groups.length === 0 && (
          <Empty>
            {job.counts.waiting > 0
              ? 'Minions are awaited still. Those that are late will be here with the cause.'
              : 'No minion is silent: each has returned.'}
          </Empty>
        )}
        {groups.map((group) => (
          <Cause key={group.cause} group={group} isAll={!hasNextPage} />
        ))}
        {hasNextPage && (
          <Button variant="default" loading={isFetching} onClick={() => void fetchNextPage()}>
            More silent minions
          </Button>
        )}
      </Sourced>
    </Stack>
  );
}

interface CauseProps {
  readonly group: CauseGroup;
  /** False while there are more silent minions than were asked for. */
  readonly isAll: boolean;
}

function Cause({ group: { cause, minions }, isAll }: CauseProps) {
  const [shown, setShown] = useState(SHOWN);
  const { meaning, help, command } = adviceFor(cause);
  const more = minions.length - shown;
  return (
    <Panel
      title={
        <>
          {NUMBER.format(minions.length)}
          {isAll ? '' : ' or more'} × <Given text={cause} />
        </>
      }
    >
      <Text size="sm">{meaning}</Text>
      <Text size="sm" mb="xs">
        What helps: {help} {command !== undefined && <Code>{command}</Code>}
      </Text>
      <ul className={classes['minions']} aria-label={`Minions: ${cause}`}>
        {minions.slice(0, shown).map(({ id, text }) => (
          <li key={id}>
            <strong>
              <Given text={id} />
            </strong>{' '}
            <Given text={text} max={1_000} />
          </li>
        ))}
      </ul>
      {more > 0 && (
        <Button size="compact-sm" variant="subtle" onClick={() => setShown(shown + SHOWN * 10)}>
          {`${NUMBER.format(more)} more`}
        </Button>
      )}
    </Panel>
  );
}
