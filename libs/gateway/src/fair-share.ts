import type { ShareLimits } from '@brine/bus/rpc';

interface Peer {
  /** Under way and counted. */
  running: number;
  /** Those that began in an earlier round are not counted any more. */
  round: number;
  readonly waiting: { readonly bytes: number; readonly begin: () => void }[];
  timer: NodeJS.Timeout | undefined;
}

/** No rest is longer, ms: a patient user does not wait longer on a slow master. */
const MAX_REST_MS = 100;
/** Others ask too if one of them did within so many ms. */
const OTHERS_MS = 2_000;

/**
 * Lets no minion or user have more than a few requests at the workers at a time; its further ones
 * wait here. While others ask too, a peer with waiting requests rests after each as long as that
 * request took. The rest of the time is free for requests of others.
 *
 * So a storm of one minion or user takes the workers' time in small pieces. Others stand behind a
 * few of its requests instead of behind all.
 */
export class FairShare {
  readonly #limits: ShareLimits;
  readonly #peers = new Map<string, Peer>();
  /** The last peer that asked, and when one before it did. */
  #latest = { name: '', atMs: -OTHERS_MS };
  #otherAtMs = -OTHERS_MS;
  #waiting = 0;
  #waitingBytes = 0;
  #delayed = 0;
  #overflowed = 0;

  constructor(limits: ShareLimits) {
    this.#limits = limits;
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
    const { atOnce, atOnceAmongOthers } = this.#limits;
    return this.#amongOthers(name) ? atOnceAmongOthers : atOnce;
  }

  #restOf(name: string, tookMs: number): number {
    if (!this.#amongOthers(name)) return 0;
    return Math.min(MAX_REST_MS, tookMs);
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
    const { waiting, waitingBytes, waitingOfOne = waiting } = this.#limits;
    const full = this.#waiting >= waiting || peer.waiting.length >= waitingOfOne;
    if (full || this.#waitingBytes + bytes > waitingBytes) {
      this.#overflowed += 1;
      peer.running += 1;
      return undefined;
    }
    this.#waiting += 1;
    this.#waitingBytes += bytes;
    this.#delayed += 1;
    peer.timer ??= setTimeout(() => this.#newRound(name, peer), this.#limits.countsForMs);
    return new Promise((begin) => peer.waiting.push({ bytes, begin }));
  }

  /** What has been under way for so long is not counted any more. */
  #newRound(name: string, peer: Peer): void {
    peer.timer = undefined;
    peer.round += 1;
    peer.running = 0;
    this.#next(name, peer);
    if (peer.waiting.length === 0) return;
    peer.timer = setTimeout(() => this.#newRound(name, peer), this.#limits.countsForMs);
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
