import type { Job } from '@brine/api/jobs';
import { Button, Group, Slider, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { jobTimelineQuery } from '../../api/job.ts';
import { useNow } from '../../parts/now.ts';
import { When } from '../../parts/when.tsx';
import { duration } from '../../state/times.ts';
import { offsetOf, SCALE_STEPS, stepOf } from './time-scale.ts';
import { useJobSearch } from './use-job-search.ts';

/** Room after the last thing that happened, ms. */
const AFTER_MS = 1_000;

/** Chooses the time of the ledger that is shown. */
export function JobAt({ job }: { readonly job: Job }) {
  const { jid, search, change } = useJobSearch();
  const nowMs = useNow();
  const timeline = useQuery(jobTimelineQuery(jid));
  const [dragged, setDragged] = useState<number>();
  const startMs = Date.parse(job.published);
  const lastMs = timeline.data?.to == null ? startMs : Date.parse(timeline.data.to);
  const deadlineMs = job.deadline === null ? undefined : Date.parse(job.deadline);
  const isOver = deadlineMs !== undefined && deadlineMs <= nowMs && job.counts.never > 0;
  const ends = [lastMs, isOver ? deadlineMs : 0, job.counts.waiting > 0 ? nowMs : 0];
  const spanMs = Math.max(...ends) + AFTER_MS - startMs;
  const chosenMs = search.at === undefined ? NaN : Date.parse(search.at) - startMs;
  const step = dragged ?? (Number.isNaN(chosenMs) ? SCALE_STEPS : stepOf(chosenMs, spanMs));
  const marks = [
    ...(timeline.data?.to == null ? [] : [{ value: stepOf(lastMs - startMs, spanMs) }]),
    ...(isOver ? [{ value: stepOf(deadlineMs - startMs, spanMs) }] : []),
  ];
  const choose = (value: number): void => {
    setDragged(undefined);
    const at = new Date(startMs + Math.max(1, offsetOf(value, spanMs))).toISOString();
    change({ at: value >= SCALE_STEPS ? '' : at });
  };
  return (
    <Group gap="sm" wrap="nowrap" align="center">
      <Text size="xs" c="dimmed" id="job-at">
        at
      </Text>
      <Slider
        flex={1}
        size="sm"
        min={0}
        max={SCALE_STEPS}
        value={step}
        marks={marks}
        label={(value) =>
          value >= SCALE_STEPS ? 'now' : `${duration(offsetOf(value, spanMs))} after the start`
        }
        thumbLabel="The ledger at this time after the start of the job"
        onChange={setDragged}
        onChangeEnd={choose}
      />
      {search.at === undefined ? (
        <Text size="xs" w="6rem">
          now
        </Text>
      ) : (
        <>
          <Text size="xs" role="status">
            {Number.isNaN(chosenMs) ? 'a strange time' : `${duration(chosenMs)} after the start, `}
            {!Number.isNaN(chosenMs) && <When time={search.at} />}
          </Text>
          <Button size="compact-xs" variant="default" onClick={() => change({ at: '' })}>
            Now
          </Button>
        </>
      )}
    </Group>
  );
}
