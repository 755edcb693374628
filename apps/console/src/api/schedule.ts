import type { Acted, Schedule, ScheduleActInput } from '@brine/api/runs';
import { queryOptions } from '@tanstack/react-query';
import { ask } from './ask.ts';

/** The master's schedule. */
export const scheduleQuery = queryOptions({
  queryKey: ['schedule'],
  queryFn: ({ signal }) => ask<Schedule>('/schedule', { signal }),
});

/** Changes what the schedule does. It has no name: where its answer is lost it is not sent again. */
export function actOnSchedule(body: ScheduleActInput): Promise<Acted> {
  return ask('/schedule/act', { body });
}
