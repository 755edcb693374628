import { Crypticle } from '@brine/crypt';
import type { AesKeys } from '@brine/master';
import type { Trouble } from '@brine/tasks';
import { fromHotState } from '../hot-state.ts';
import type { AesEpochs } from './aes-epochs.ts';

/** Version 2 minions still seal with the last key until they have logged in again. */
const OVERLAP_MS = 60_000;

/** Longest delay of a log-in by a rotation; then the answer is "not now". */
const ROTATION_WAIT_MS = 2_500;

/** The master's AES key, replaced at the markers in the stream of publications. */
export class EpochAesKeys implements AesKeys {
  readonly #epochs: AesEpochs;
  readonly #onTrouble: Trouble;
  #current: Crypticle;
  #previous: Crypticle | undefined;
  #changedAt = 0;

  constructor(epochs: AesEpochs, onTrouble: Trouble) {
    this.#epochs = epochs;
    this.#onTrouble = onTrouble;
    this.#current = new Crypticle(epochs.current().keyString);
  }

  current(): Crypticle {
    const { keyString } = this.#epochs.current();
    if (keyString !== this.#current.keyString) {
      this.#previous = this.#current;
      this.#current = new Crypticle(keyString);
      this.#changedAt = performance.now();
    }
    return this.#current;
  }

  async forLogin(): Promise<Crypticle> {
    await fromHotState('AES keys', this.#epochs.settled(ROTATION_WAIT_MS));
    return this.current();
  }

  rotate(): void {
    this.#epochs.rotate().catch((err: unknown) => {
      this.#onTrouble('the AES key was not rotated', err);
    });
  }

  forRequests(): readonly Crypticle[] {
    const current = this.current();
    if (this.#previous === undefined || performance.now() - this.#changedAt > OVERLAP_MS) {
      return [current];
    }
    return [current, this.#previous];
  }
}
