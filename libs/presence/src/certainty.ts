/** Many minions reconnect after a publisher began or ended: none is lost for so long. */
const HERD_MS = 60_000;

/** Up to when it is known what happened, and from when on a verdict may be made. Monotonic ms. */
export class Certainty {
  readonly #herdMs: number;
  /** A minion without a connection is not lost before. */
  readonly graceMs: number;
  #knownMs = -Infinity;
  #sureMs: number | undefined;
  #herdUntilMs = -Infinity;
  /** The time of the call that is being worked on. */
  now = 0;

  constructor(graceMs: number, herdMs = HERD_MS) {
    this.graceMs = graceMs;
    this.#herdMs = herdMs;
  }

  /** Up to when all publishers have reported. Verdicts are as of this time. */
  get knownMs(): number {
    return this.#knownMs;
  }

  /** Whether all connections are known, so that a missing one means something. */
  get isSure(): boolean {
    return this.#sureMs !== undefined;
  }

  /** Whether many minions may be reconnecting. They can not answer meanwhile. */
  get isHerd(): boolean {
    return this.now < this.#herdUntilMs;
  }

  /** Whether minions had a grace since all connections are known. */
  get isSettled(): boolean {
    const sureMs = this.#sureMs ?? Infinity;
    return this.#knownMs >= Math.max(sureMs + this.graceMs, this.#herdUntilMs);
  }

  /** When a grace ends that begins now. */
  due(graceMs = this.graceMs): number {
    return Math.max(this.now + graceMs, this.#herdUntilMs);
  }

  /** All connections are known, as of this time. */
  sure(knownMs: number): void {
    this.#sureMs ??= this.now;
    this.#knownMs = Math.min(this.now, knownMs);
  }

  /** Some connections are not known. */
  unsure(): void {
    this.#sureMs = undefined;
  }

  /** Many minions lose their connection now, or come back. */
  herd(): void {
    this.#herdUntilMs = this.now + this.#herdMs;
  }
}
