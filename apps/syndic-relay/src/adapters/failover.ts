import type { MasterAbove, Sent } from '@brine/syndic';
import type { SaltMap } from '@brine/wire';

/** `syndic_failover`: in the order of the configuration, or in a random one. */
export type FailoverOrder = 'random' | 'ordered';

/**
 * Sends unsolicited events to the first of several upper masters that accepts them (salt/minion.py
 * SyndicManager.iter_master_options). Tries all of them `rounds` times (`syndic_retries`), then the
 * caller waits.
 */
export function failover(
  masters: readonly MasterAbove[],
  order: FailoverOrder,
  rounds: number,
  random: () => number = Math.random,
): MasterAbove {
  return {
    async send(load: SaltMap, signal: AbortSignal): Promise<Sent> {
      const all = order === 'random' ? shuffled(masters, random) : masters;
      let last: Sent = 'away';
      for (let round = 0; round < rounds; round += 1) {
        for (const master of all) {
          if (signal.aborted) return 'away';
          last = await master.send(load, signal);
          // After a refusal too: the next master would refuse as well.
          if (last !== 'away') return last;
        }
      }
      return last;
    },
  };
}

function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  const all = items.map((item) => ({ item, at: random() }));
  return all.sort((one, other) => one.at - other.at).map(({ item }) => item);
}
