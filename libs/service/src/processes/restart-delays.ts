import { RestartDelays } from '@brine/tasks';

/** A service is started again at once, then after longer and longer delays. */
const DELAYS_MS = [0, 200, 500, 1000, 2000, 5000];
const STEADY_MS = 30_000;

/** The delays before a service, or a server beside it, is started again. */
export function serviceRestarts(): RestartDelays {
  return new RestartDelays(DELAYS_MS, STEADY_MS);
}
