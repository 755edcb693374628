import { timeText } from '@brine/api';
import type { Overview } from '@brine/api/fleet';
import type { HttpRequest } from '@brine/http';
import { boolOf, intOf, isMap, listOf, mapOf, type SaltMap, textOf } from '@brine/wire';
import { NetapiError } from '../../errors.ts';
import { readsOf } from '../asking.ts';
import type { V1Parts } from '../parts.ts';

type JobNumbers = NonNullable<Overview['jobs']>;

const MINUTES = 60;
const MINUTE_MS = 60_000;

/** What jobs of late came to, as the caller may see it; null without the job cache. */
export async function jobNumbers(
  request: HttpRequest,
  parts: Pick<V1Parts, 'requests'>,
): Promise<JobNumbers | null> {
  try {
    const numbers = await readsOf(request, parts)('job_numbers', {});
    return isMap(numbers) ? numbersShown(numbers, Date.now()) : null;
  } catch (error) {
    // The fleet and the services are shown without PostgreSQL, too.
    if (error instanceof NetapiError && error.status === 503) return null;
    throw error;
  }
}

function numbersShown(numbers: SaltMap, nowMs: number): JobNumbers {
  const byMinute = new Map<string, SaltMap>();
  for (const one of listOf(numbers, 'minutes') ?? []) {
    if (isMap(one)) byMinute.set(textOf(one, 'minute') ?? '', one);
  }
  const first = (Math.floor(nowMs / MINUTE_MS) - MINUTES + 1) * MINUTE_MS;
  return {
    open: intOf(numbers, 'open') ?? 0,
    perMinute: Array.from({ length: MINUTES }, (_, at) => {
      const ms = first + at * MINUTE_MS;
      const name = new Date(ms).toISOString().replace(/\D/g, '').slice(0, 12);
      const found = byMinute.get(name) ?? mapOf({});
      const of = (field: string): number => intOf(found, field) ?? 0;
      const [jobs, returns, failed] = [of('jobs'), of('returns'), of('failed')];
      return { at: timeText(ms / 1_000), jobs, returns, failed };
    }),
    isWhole: boolOf(numbers, 'isWhole') === true,
    quarantined: intOf(numbers, 'quarantined') ?? null,
  };
}
