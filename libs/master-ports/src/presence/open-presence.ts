import type { Bus } from '@brine/bus';
import type { MinionPresence } from '@brine/master';
import type { Metrics } from '@brine/service';
import { AskedPresence } from './asked-presence.ts';
import { ProofReporter } from './proof-reporter.ts';

/** Which minions are connected, as requests see and prove it. */
export interface RequestPresence {
  /** Which minions are connected, wherever the owner is. */
  readonly port: MinionPresence;
  /** Notes that a minion proved itself; `jid` of a return. */
  heard(id: string, address: string | undefined, jid: string | undefined): void;
  close(): void;
}

/** Opens presence in a process that answers requests: it asks and informs the owner. */
export function openPresence(bus: Bus, metrics: Metrics): RequestPresence {
  const reporter = new ProofReporter(bus);
  metrics.counterOf(
    'brine_presence_left_out_total',
    'Minions that were heard and found no room in a word to the owner.',
    () => reporter.leftOut,
  );
  return {
    port: new AskedPresence(bus),
    heard: (id, address, jid) => reporter.heard(id, address, jid),
    close: () => reporter.close(),
  };
}
