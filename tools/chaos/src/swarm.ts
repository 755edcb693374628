import { Swarm, type SwarmOptions } from '@brine/swarm';
import type { Run } from './run.ts';

/** Ids of the simulated minions. */
export const PREFIX = 'chaos-';

/** They show nothing of the master: few are enough, and none has to be made for long. */
const KEY_PAIRS = 16;

/** A minion's waits must not hide the master's recovery; a stock one waits 1 to 11 s, 5 to 10. */
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
