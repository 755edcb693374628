import type { JobOrigin } from '@brine/job';
import type { Request } from '../ports/ports.ts';
import type { Caller } from './caller.ts';

/** What begins a job, from the request for it and from its caller. */
export function originOf(
  { origin, readsStore }: Pick<Request, 'origin' | 'readsStore'>,
  { kind, via }: Pick<Caller, 'kind' | 'via'>,
): JobOrigin {
  if (origin !== undefined) return origin;
  if (via !== undefined) {
    // Schedule and reactor publish themselves; all else that publishes is a runner or a wheel.
    const by = via.split(' ', 1)[0];
    return by === 'schedule' || by === 'reactor' ? by : 'run';
  }
  if (kind === 'minion') return 'minion';
  // Only the HTTP API asks for others without reading the files of a host.
  return readsStore === true ? 'api' : 'cli';
}
