/**
 * The serial of publications: the time, in microseconds, at which the stream stored each, raised to
 * one more than the one before where that is not greater. Every publisher that reads the same
 * stream comes to the same numbers, today and after a restart; a minion drops what is not greater
 * than the last it saw under the same AES key (Salt: salt/crypt.py Crypticle.loads).
 */
export class SerialClock {
  #last = 0;

  /** The serial given last; 0 before the first. */
  get last(): number {
    return this.#last;
  }

  /** The serial of the next message of the stream. */
  next(timeUs: number): number {
    this.#last = Math.max(timeUs, this.#last + 1);
    return this.#last;
  }

  /**
   * A new AES key begins: minions have forgotten the serials of the old one. All of the new key are
   * above the time of its marker, so that what is below may go out under it too.
   */
  newKey(markerTimeUs: number): void {
    this.#last = markerTimeUs;
  }
}
