import { Swarm, type SwarmOptions } from '@brine/swarm';
import type { Run } from './run.ts';

/** Ids of the simulated minions. */
export const PREFIX = 'chaos-';

/** Number of key pairs. Few are enough, since the pairs do not affect the master. */
const KEY_PAIRS = 16;

/** Short waits do not hide the master's recovery. Stock: 1 to 11 s, and 5 to 10 s. */
export const IMPATIENT = { reconnectMs: [100, 500], returnTimeoutMs: [3_000, 6_000] } as const;

/** Starts simulated minions of a master, whose keys are accepted; they end with the run. */
export async function startSwarm(
  { retPort, pkiDir }: { readonly retPort: number; readonly pkiDir: string },
  { log, print, onEnd }: Run,
  options: Partial<SwarmOptions> & Pick<SwarmOptions, 'minions'>,
): Promise<Swarm> {
  const swarm = await Swarm.start({
    retPort,
    pkiDir,
    idPrefix: PREFIX,
    keyPairs: KEY_PAIRS,
    log,
    onProgress: print,
    ...options,
  });
  onEnd(() => swarm.close());
  return swarm;
}
