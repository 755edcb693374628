/** How much one peer may have under way. */
export interface FairShareOptions {
  /** Requests of one peer at the workers at a time. */
  readonly atOnce: number;
  /**
   * One that is under way for longer than this, in ms, does not count any more: it waits for
   * something else than for us, and those behind it must not wait with it.
   */
  readonly countsForMs: number;
  /** Requests of all peers that wait for their turn; beyond it nobody is made to wait. */
  readonly maxWaiting: number;
}

interface Peer {
  /** Under way and counted. */
  running: number;
  /** Those that began in an earlier round are not counted any more. */
  round: number;
  readonly waiting: (() => void)[];
  timer: NodeJS.Timeout | undefined;
}

/**
 * Who has more waiting rests as long as his last request took, but no longer than this, in ms: a
 * storm has half of the time at most, and what comes between finds free workers.
 */
const MAX_REST_MS = 50;

/**
 * Lets no peer have more than a few requests at the workers at a time; its further ones wait here.
 * A storm of one minion or of one user so takes the workers' time only in small pieces, and others
 * stand behind a few of its requests instead of behind all.
 */
export class FairShare {
  readonly #options: FairShareOptions;
  readonly #peers = new Map<string, Peer>();
  #waiting = 0;
  #delayed = 0;
  #overflowed = 0;

  constructor(options: FairShareOptions) {
    this.#options = options;
  }

  /** `delayed`: had to wait. `overflowed`: should have, but too many were waiting. */
  get stats(): { readonly waiting: number; readonly delayed: number; readonly overflowed: number } {
    return { waiting: this.#waiting, delayed: this.#delayed, overflowed: this.#overflowed };
  }

  /** Does the work when it is this peer's turn. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const peer = this.#peerOf(name);
    if (peer.running < this.#options.atOnce) peer.running += 1;
    else await this.#turn(name, peer);
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
      const restMs = Math.min(MAX_REST_MS, performance.now() - sinceMs);
      if (peer.waiting.length > 0 && restMs >= 1) setTimeout(release, restMs);
      else release();
    }
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
  #turn(name: string, peer: Peer): Promise<void> | undefined {
    if (this.#waiting >= this.#options.maxWaiting) {
      this.#overflowed += 1;
      peer.running += 1;
      return undefined;
    }
    this.#waiting += 1;
    this.#delayed += 1;
    peer.timer ??= setTimeout(() => this.#newRound(name, peer), this.#options.countsForMs);
    return new Promise((resolve) => peer.waiting.push(resolve));
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
    while (peer.running < this.#options.atOnce) {
      const next = peer.waiting.shift();
      if (next === undefined) break;
      this.#waiting -= 1;
      peer.running += 1;
      next();
    }
    if (peer.running > 0) return;
    clearTimeout(peer.timer);
    this.#peers.delete(name);
  }
}
