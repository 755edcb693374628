/** How much one peer may have under way. */
export interface FairShareOptions {
  /** Requests of one peer at the workers at a time. */
  readonly atOnce: number;
  /** The same while others ask too. */
  readonly atOnceAmongOthers: number;
  /**
   * One that is under way for longer than this, in ms, does not count any more: it waits for
   * something else than for us, and those behind it must not wait with it.
   */
  readonly countsForMs: number;
  /** Requests of all peers that wait for their turn; beyond it nobody is made to wait. */
  readonly maxWaiting: number;
  /** The same for one peer: who writes another's name on his requests fills that one's line. */
  readonly maxWaitingOfOne: number;
  /** The same by the bytes of all: what waits here is in no other limit yet. */
  readonly maxWaitingBytes: number;
  /**
   * While others ask too, who has more waiting rests so many times as long as his last request
   * took: of a storm's share of the time, what comes between finds the rest free.
   */
  readonly restFactor: number;
}

interface Peer {
  /** Under way and counted. */
  running: number;
  /** Those that began in an earlier round are not counted any more. */
  round: number;
  readonly waiting: { readonly bytes: number; readonly begin: () => void }[];
  timer: NodeJS.Timeout | undefined;
}

/** No rest is longer, in ms: a slow master is not made slower for one who is patient. */
const MAX_REST_MS = 100;
/** Others ask too when one of them did within so many ms; alone nobody has to rest. */
const OTHERS_MS = 2_000;

/**
 * Lets no peer have more than a few requests at the workers at a time; its further ones wait here.
 * A storm of one minion or of one user so takes the workers' time only in small pieces, and others
 * stand behind a few of its requests instead of behind all.
 */
export class FairShare {
  readonly #options: FairShareOptions;
  readonly #peers = new Map<string, Peer>();
  /** Who asked last, and when last somebody else did. */
  #latest = { name: '', atMs: -OTHERS_MS };
  #otherAtMs = -OTHERS_MS;
  #waiting = 0;
  #waitingBytes = 0;
  #delayed = 0;
  #overflowed = 0;

  constructor(options: FairShareOptions) {
    this.#options = options;
  }

  /** `delayed`: had to wait. `overflowed`: should have, but too many were waiting. */
  get stats(): { readonly waiting: number; readonly delayed: number; readonly overflowed: number } {
    return { waiting: this.#waiting, delayed: this.#delayed, overflowed: this.#overflowed };
  }

  /** Does the work when it is this peer's turn; `bytes` are kept in memory until then. */
  async run<T>(name: string, bytes: number, work: () => Promise<T>): Promise<T> {
    const peer = this.#peerOf(name);
    this.#note(name);
    if (peer.running < this.#atOnce(name)) peer.running += 1;
    else await this.#turn(name, peer, bytes);
    const { round } = peer;
    const sinceMs = performance.now();
    try {
      return await work();
    } finally {
      const release = (): void => {
        if (round !== peer.round) return;
        peer.running -= 1;
        this.#next(name, peer);
      };
      const restMs = peer.waiting.length > 0 ? this.#restOf(name, performance.now() - sinceMs) : 0;
      if (restMs >= 1) setTimeout(release, restMs);
      else release();
    }
  }

  #note(name: string): void {
    if (this.#latest.name !== name) this.#otherAtMs = this.#latest.atMs;
    this.#latest = { name, atMs: performance.now() };
  }

  #amongOthers(name: string): boolean {
    const { name: latest, atMs } = this.#latest;
    const otherAtMs = latest === name ? this.#otherAtMs : atMs;
    return performance.now() - otherAtMs <= OTHERS_MS;
  }

  #atOnce(name: string): number {
    const { atOnce, atOnceAmongOthers } = this.#options;
    return this.#amongOthers(name) ? atOnceAmongOthers : atOnce;
  }

  #restOf(name: string, tookMs: number): number {
    if (!this.#amongOthers(name)) return 0;
    return Math.min(MAX_REST_MS, tookMs * this.#options.restFactor);
  }

  #peerOf(name: string): Peer {
    let peer = this.#peers.get(name);
    if (peer === undefined) {
      peer = { running: 0, round: 0, waiting: [], timer: undefined };
      this.#peers.set(name, peer);
    }
    return peer;
  }

  /** Resolves when its turn has come; it is counted by then. */
  #turn(name: string, peer: Peer, bytes: number): Promise<void> | undefined {
    const { maxWaiting, maxWaitingOfOne, maxWaitingBytes } = this.#options;
    const full = this.#waiting >= maxWaiting || peer.waiting.length >= maxWaitingOfOne;
    if (full || this.#waitingBytes + bytes > maxWaitingBytes) {
      this.#overflowed += 1;
      peer.running += 1;
      return undefined;
    }
    this.#waiting += 1;
    this.#waitingBytes += bytes;
    this.#delayed += 1;
    peer.timer ??= setTimeout(() => this.#newRound(name, peer), this.#options.countsForMs);
    return new Promise((begin) => peer.waiting.push({ bytes, begin }));
  }

  /** What has been under way for so long is not counted any more. */
  #newRound(name: string, peer: Peer): void {
    peer.timer = undefined;
    peer.round += 1;
    peer.running = 0;
    this.#next(name, peer);
    if (peer.waiting.length === 0) return;
    peer.timer = setTimeout(() => this.#newRound(name, peer), this.#options.countsForMs);
  }

  #next(name: string, peer: Peer): void {
    while (peer.running < this.#atOnce(name)) {
      const next = peer.waiting.shift();
      if (next === undefined) break;
      this.#waiting -= 1;
      this.#waitingBytes -= next.bytes;
      peer.running += 1;
      next.begin();
    }
    if (peer.running > 0) return;
    clearTimeout(peer.timer);
    this.#peers.delete(name);
  }
}
