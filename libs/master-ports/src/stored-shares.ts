import { FairShare, LIMITS, ShareExceededError } from '@brine/bus/share';
import { MasterUnavailableError, type SharingPeer } from '@brine/master';
import type { Metrics } from '@brine/service';

/** Shares of peers in the stream that all of them use. */
export class StoredShares {
  readonly #shares = {
    minion: new FairShare(LIMITS.stored.minion),
    syndic: new FairShare(LIMITS.stored.syndic),
    engine: new FairShare(LIMITS.stored.engine),
  };
  readonly #onExceeded: (text: string) => void;

  /** @param onExceeded called once per peer, until half of its share is free again */
  constructor(metrics: Pick<Metrics, 'counterOf'>, onExceeded: (text: string) => void) {
    this.#onExceeded = onExceeded;
    metrics.counterOf(
      'brine_shares_refused_total',
      'Requests to store events of a minion, syndic or engine that had had its share.',
      () =>
        Object.entries(this.#shares).map(([of, { stats }]) => ({
          labels: { of },
          value: stats.refused,
        })),
    );
  }

  /** @throws MasterUnavailableError if the peer has used its share: its message is not stored */
  async run<T>({ kind, id }: SharingPeer, bytes: number, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#shares[kind].run(id, bytes, work);
    } catch (cause) {
      if (!(cause instanceof ShareExceededError)) throw cause;
      const text = 'has had its share of the stream of events';
      if (!cause.again) this.#onExceeded(`${kind} ${id} ${text}: what it sends has to wait`);
      // The text has no name of a peer, so that the log of outages keeps few texts.
      throw new MasterUnavailableError(`${kind}: it ${text}`, { cause });
    }
  }
}
