import type { Bus } from '@brine/bus';
import type { MinionPresence } from '@brine/master';
import type { Metrics } from '@brine/service';
import { AskedPresence } from './asked-presence.ts';
import { ProofReporter } from './proof-reporter.ts';

/** Presence of minions, as requests use and prove it. */
export interface RequestPresence {
  /** Queries the owner, wherever it is. */
  readonly port: MinionPresence;
  /** Records that a minion proved itself; `jid` is that of a return. */
  proven(id: string, address: string | undefined, jid: string | undefined): void;
  close(): void;
}

/** Opens presence in a process that answers requests: it queries and informs the owner. */
export function openPresence(bus: Bus, metrics: Metrics): RequestPresence {
  const reporter = new ProofReporter(bus);
  metrics.counterOf(
    'brine_presence_left_out_total',
    'Minions that proved themselves and found no room in a report to the owner.',
    () => reporter.leftOut,
  );
  return {
    port: new AskedPresence(bus),
    proven: (id, address, jid) => reporter.proven(id, address, jid),
    close: () => reporter.close(),
  };
}
