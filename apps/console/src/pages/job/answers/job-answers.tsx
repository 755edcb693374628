import type { Job, JobGroups } from '@brine/api/jobs';
import { Button, Group, Paper, SegmentedControl, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { jobGroupsQuery, jobReturnQuery, type Likeness } from '../../../api/job.ts';
import { Given, shown } from '../../../parts/given.tsx';
import { Empty, Sourced } from '../../../parts/panel.tsx';
import { StateSign } from '../../../parts/state-sign.tsx';
import { FreshButton } from '../fresh-button.tsx';
import type { JobSearch } from '../job-search.ts';
import { useCalm } from '../use-calm.ts';
import { useJobSearch } from '../use-job-search.ts';
import { Difference } from './difference.tsx';
import { OpenReturn } from './open-return.tsx';
import { givenOf } from './return-text.ts';
import { ReturnView } from './return-view.tsx';

const NUMBER = new Intl.NumberFormat('en');
/** Groups whose answers are read at once. */
const READ_AT_ONCE = 5;

type AnswerGroup = JobGroups['items'][number];

interface JobAnswersProps {
  readonly job: Job;
  /** How many minions returned. */
  readonly came: number;
}

/** What minions gave, by what it contains: failed ones first, then what is rare. */
export function JobAnswers({ job, came }: JobAnswersProps) {
  const { jid, search, change } = useJobSearch();
  const like = likenessOf(search, job);
  const groups = useQuery(jobGroupsQuery(jid, like));
  const { fresh, show, touch } = useCalm(came, () => void groups.refetch());
  const items = groups.data?.items ?? [];
  const largest = items.reduce<AnswerGroup | undefined>(
    (most, one) => (most === undefined || one.size > most.size ? one : most),
    undefined,
  );
  return (
    <Stack gap="sm" {...touch}>
      <Group gap="sm">
        <div className="choices">
          <SegmentedControl
            aria-label="What counts as the same answer"
            size="xs"
            value={like}
            data={[
              { value: 'exact', label: 'The same answer' },
              { value: 'states', label: 'States that came to the same' },
            ]}
            onChange={(value) => change({ like: value, diff: '' })}
          />
        </div>
        <FreshButton fresh={fresh} show={show} />
        {groups.data?.whole === false && (
          <Text size="sm" role="status">
            Returns are still read for this.
          </Text>
        )}
      </Group>
      <Sourced source={groups}>
        {items.length === 0 && (
          <Empty>No minion has returned yet. The answers will be here, grouped.</Empty>
        )}
        <Stack gap="xs" component="ul" p={0} m={0} aria-label="Answers">
          {items.map((group, at) => (
            <Answer
              key={group.digest}
              group={group}
              largest={largest}
              isRead={at < READ_AT_ONCE}
              isCompared={search.diff === group.digest}
              onCompare={(isOn) => change({ diff: isOn ? group.digest : '' })}
            />
          ))}
        </Stack>
        {(groups.data?.more ?? 0) > 0 && (
          <Text size="sm">{NUMBER.format(groups.data?.more ?? 0)} more are not shown.</Text>
        )}
      </Sourced>
    </Stack>
  );
}

/** Runs of states have times and numbers in them: as they are, no two are equal. */
function likenessOf({ like }: JobSearch, { fun }: Job): Likeness {
  if (like === 'exact' || like === 'states') return like;
  return fun.some((name) => name.startsWith('state.')) ? 'states' : 'exact';
}

interface AnswerProps {
  readonly group: AnswerGroup;
  readonly largest: AnswerGroup | undefined;
  /** Its answer is read without being asked for. */
  readonly isRead: boolean;
  readonly isCompared: boolean;
  readonly onCompare: (isOn: boolean) => void;
}

function Answer({ group, largest, isRead, isCompared, onCompare }: AnswerProps) {
  const { jid } = useJobSearch();
  const { size, failed, sample } = group;
  const [isAsked, setAsked] = useState(isRead);
  const given = useQuery({ ...jobReturnQuery(jid, sample), enabled: isAsked });
  const hasOther = largest !== undefined && largest.digest !== group.digest;
  return (
    <Paper component="li" withBorder p="sm" style={{ listStyle: 'none' }}>
      <Group justify="space-between" mb="xs">
        <Group gap="xs">
          <StateSign
            state={failed ? 'failed' : 'returned'}
            word={`${NUMBER.format(size)} ${failed ? 'failed' : 'returned'}`}
          />
          <Text size="sm">
            {size === 1 ? '' : 'as '}
            <OpenReturn id={sample} />
          </Text>
        </Group>
        {hasOther && (
          <Button
            size="compact-sm"
            variant="default"
            aria-expanded={isCompared}
            onClick={() => onCompare(!isCompared)}
          >
            {isCompared ? 'Hide the difference' : `Show the difference to ${nameOf(largest)}`}
          </Button>
        )}
      </Group>
      {isCompared && hasOther ? (
        <Difference jid={jid} here={sample} there={largest.sample} />
      ) : isAsked ? (
        <Sourced source={given}>
          <ReturnView value={givenOf(given.data?.load)} id={sample} isShort />
        </Sourced>
      ) : (
        <Button size="compact-sm" variant="subtle" onClick={() => setAsked(true)}>
          Show what <Given text={sample} max={60} /> gave
        </Button>
      )}
    </Paper>
  );
}

function nameOf({ size, sample }: AnswerGroup): string {
  return size === 1 ? shown(sample, 60) : `the ${NUMBER.format(size)}`;
}
