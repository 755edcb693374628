import type { PublicationTimes, Published } from '@brine/bus/jobs';
import { MAX_LATER_JOBS } from './again-rule.ts';
import type { Epochs } from './ports.ts';

/**
 * Whose AES key seals what is read off the stream: that of the last marker before it. Except for
 * what is overtaken by a newer key, as all is that a start reads back of the time before a
 * rotation: minions have the new key, and one that hears a frame of the old key logs in and drops
 * it.
 */
export class EpochChoice {
  readonly #epochs: Pick<Epochs, 'overtaking'>;
  #marked = 0;
  #readBackTo = 0;
  #rememberedFrom = 0;

  constructor(epochs: Pick<Epochs, 'overtaking'>) {
    this.#epochs = epochs;
  }

  /** Begins with this epoch; `before` is what the stream holds already. */
  seed(epoch: number, before: PublicationTimes['times']): void {
    this.#marked = epoch;
    this.#readBackTo = before.at(-1)?.seq ?? 0;
    const jobs = before.filter(({ kind }) => kind === 'job');
    this.#rememberedFrom = jobs.at(-MAX_LATER_JOBS)?.seq ?? 0;
  }

  /** The stream says that the key of this epoch holds from here on. */
  marker(epoch: number): void {
    this.#marked = epoch;
  }

  /** The epoch for what stands at this place of the stream. */
  of(published: Exclude<Published, { kind: 'marker' }>, serial: number): number {
    const { seq } = published;
    const jobSeq = published.kind === 'again' ? published.again.seq : seq;
    // A minion forgets the serials it has seen when it takes the new key. Then only the jid keeps
    // it from running a job twice, and of those it remembers but the last.
    if (seq <= this.#readBackTo && jobSeq < this.#rememberedFrom) return this.#marked;
    return this.#epochs.overtaking(seq, serial) ?? this.#marked;
  }
}
