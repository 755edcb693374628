import type { Acted, Schedule, ScheduleActInput } from '@brine/api/runs';
import { queryOptions } from '@tanstack/react-query';
import { ask } from './ask.ts';

/** The master's schedule. */
export const scheduleQuery = queryOptions({
  queryKey: ['schedule'],
  queryFn: ({ signal }) => ask<Schedule>('/schedule', { signal }),
});

/** Changes what the schedule does. Without its answer it is not sent again: it has no key. */
export function actOnSchedule(body: ScheduleActInput): Promise<Acted> {
  return ask('/schedule/act', { body });
}
