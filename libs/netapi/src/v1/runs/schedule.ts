import { noQuery, timeText } from '@brine/api';
import {
  type Acted,
  actedSchema,
  type Schedule,
  type ScheduleAct,
  scheduleActSchema,
  type ScheduledRun,
  scheduleSchema,
} from '@brine/api/runs';
import type { DescribedApp } from '@brine/http';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { V1Parts } from '../parts.ts';
import { RefusedRequest } from '../problem.ts';
import { problems } from '../schemas.ts';
import { textIn } from '../values.ts';
import { CALL_CODES, callRunner } from './call-runner.ts';

const tags = ['schedule'];

/** `/v1/schedule`: jobs of the master's schedule, and acts on it. */
export function addSchedule(app: DescribedApp, parts: V1Parts): void {
  app.get(
    '/schedule',
    {
      exposeHeadRoute: true,
      schema: {
        tags,
        summary: "The master's schedule",
        description: 'For a caller with the runner `schedule.status`.',
        querystring: noQuery,
        response: { 200: scheduleSchema, ...problems(...CALL_CODES) },
      },
    },
    async (request): Promise<Schedule> => {
      const found = await callRunner(request, parts, 'schedule.status', { utc: true });
      const jobs = [...(isMap(found) ? found : mapOf({}))];
      const faults = isMap(found) ? mapIn(found, 'not_in_force') : undefined;
      return {
        items: jobs.flatMap(([name, job]) =>
          isMap(job) && job.has('function') ? [itemOf(name, job)] : [],
        ),
        notInForce: [...(faults ?? [])].map(([where, why]) => ({
          where: pyStr(where),
          why: pyStr(why),
        })),
      };
    },
  );
  app.post(
    '/schedule/act',
    {
      schema: {
        tags,
        summary: "Change what the master's schedule does",
        description:
          'Runs `schedule.run_job`, `skip_job`, `postpone_job`, `enable_job`, `disable_job`, ' +
          '`enable` or `disable` with the rights of the caller. What starts a job needs the ' +
          'right to its function too.',
        body: scheduleActSchema,
        response: { 200: actedSchema, ...problems('not-found', ...CALL_CODES) },
      },
    },
    async (request): Promise<Acted> => {
      const done = await callRunner(request, parts, ...callOf(request.body));
      const comment = isMap(done) ? (textOf(done, 'comment') ?? '') : '';
      if (!isMap(done) || done.get('result') === false) {
        throw new RefusedRequest('not-found', comment);
      }
      return { comment };
    },
  );
}

/** The runner of an act, and its arguments. */
function callOf(asked: ScheduleAct): [fun: string, kwarg: Record<string, SaltValue>] {
  switch (asked.act) {
    case 'run':
      return ['schedule.run_job', { name: asked.name, force: asked.force }];
    case 'skip': {
      const { name, at } = asked;
      return ['schedule.skip_job', { name, current_time: asTime(at), utc: true }];
    }
    case 'postpone': {
      const [current, later] = [asTime(asked.at), asTime(asked.to)];
      const times = { current_time: current, new_time: later, utc: true };
      return ['schedule.postpone_job', { name: asked.name, ...times }];
    }
    case 'enable':
    case 'disable': {
      const { act, name } = asked;
      return name === undefined ? [`schedule.${act}`, {}] : [`schedule.${act}_job`, { name }];
    }
  }
}

/** A time as the runner takes it, to the second. */
function asTime(text: string): string {
  return new Date(Date.parse(text)).toISOString().slice(0, 19);
}

function itemOf(name: SaltValue, job: SaltMap): Schedule['items'][number] {
  const skipped = mapIn(job, 'skipped');
  return {
    name: pyStr(name),
    fun: textOf(job, 'function') ?? '',
    enabled: job.get('enabled') === true,
    next: timeIn(job, 'next_fire_time') ?? null,
    runs: (listOf(job, 'runs') ?? []).filter(isMap).map(runOf),
    skipped: skipped === undefined ? null : skippedOf(skipped),
  };
}

function skippedOf(skipped: SaltMap): NonNullable<Schedule['items'][number]['skipped']> {
  return { at: timeIn(skipped, 'time') ?? '', reason: textOf(skipped, 'reason') ?? '' };
}

function runOf(run: SaltMap): ScheduledRun {
  const ended = timeIn(run, 'ended');
  const success = run.get('success');
  return {
    due: timeIn(run, 'due') ?? '',
    ...textIn(run, 'jid'),
    ...(ended === undefined ? {} : { ended }),
    running: run.get('running') === true,
    ...(typeof success === 'boolean' ? { success } : {}),
    ...textIn(run, 'skipped'),
  };
}

/** A time that the runner shows in UTC. */
function timeIn(row: SaltMap, name: string): string | undefined {
  const text = textOf(row, name);
  return text === undefined ? undefined : timeText(Date.parse(`${text}Z`) / 1_000);
}
