import { parseTag } from '@brine/job';
import { textOf } from '@brine/wire';
import type { ApiCaller } from '../sessions/callers.ts';
import type { Sight } from './followers.ts';
import type { LiveEvent } from './live-events.ts';

/** Rights that together are all rights. */
const ALL = ['.*', '@runner', '@wheel'];

/** Jobs of one user that are remembered while they return. */
const JOBS_MAX = 10_000;

/** The events that a caller may see: all, with all rights; else those of its own jobs and runs. */
export function sightOf({ name, eauth, perms }: ApiCaller): Sight {
  if (ALL.every((right) => perms.includes(right))) return { key: 'all', sees: () => true };
  const jobs = new Set<string>();
  return { key: JSON.stringify([eauth, name]), sees: (event) => isOwn(event, name, jobs) };
}

function isOwn({ tag, data }: LiveEvent, name: string, jobs: Set<string>): boolean {
  const parsed = parseTag(tag);
  switch (parsed.kind) {
    case 'job-new':
      if (textOf(data, 'user') !== name) return false;
      jobs.add(parsed.jid);
      if (jobs.size > JOBS_MAX) for (const oldest of jobs) return (jobs.delete(oldest), true);
      return true;
    case 'job-publish':
    case 'job-return':
    case 'job-progress':
    case 'job-error':
      return jobs.has(parsed.jid);
    case 'run':
    case 'wheel':
      return textOf(data, 'user') === name;
    default:
      return false;
  }
}
