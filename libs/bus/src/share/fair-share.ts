import type { Budget, ShareLimits } from '../rpc/limits.ts';

interface Peer {
  /** Running and counted. */
  running: number;
  /** Requests of an earlier round are not counted any more. */
  round: number;
  readonly waiting: { readonly bytes: number; readonly begin: () => void }[];
  timer: NodeJS.Timeout | undefined;
}

/** The part of its budget that a peer has used, and when that was computed. */
interface Used {
  bytes: number;
  atMs: number;
  /** It was refused since it last had half of its budget left. */
  isOver: boolean;
}

/** Peers whose use is remembered, by id and by address; strangers have many addresses. */
const USED_MAX = 20_000;

/** A peer has used up its share, so its request was not begun. */
export class ShareExceededError extends Error {
  override readonly name = 'ShareExceededError';
  /** Refused before, without half of its budget left since, so the log has it already. */
  readonly again: boolean;

  constructor(peer: string, again: boolean) {
    super(`${peer} has had its share`);
    this.again = again;
  }
}

/** No rest is longer, ms: a patient user does not wait longer on a slow master. */
const MAX_REST_MS = 100;
/** Others count as asking for this long after a request of theirs, ms. */
const OTHERS_MS = 2_000;

/**
 * Limits how many requests of one minion or user are at the workers at a time; further ones wait
 * here. While others ask too, a peer with waiting requests rests after each as long as that request
 * took. The rest of the time is free for requests of others.
 *
 * So a storm of one minion or user takes the workers' time in small pieces. Others wait behind a
 * few of its requests instead of behind all.
 *
 * With a budget it also bounds the bytes of each peer over time. A request that exceeds it, or
 * finds no place to wait, is refused.
 */
export class FairShare {
  readonly #limits: ShareLimits;
  readonly #peers = new Map<string, Peer>();
  /** By the time of the last use, oldest first. */
  readonly #used = new Map<string, Used>();
  /** The last peer that asked, and when one before it did. */
  #latest = { name: '', atMs: -OTHERS_MS };
  #otherAtMs = -OTHERS_MS;
  #waiting = 0;
  #waitingBytes = 0;
  #delayed = 0;
  #overflowed = 0;
  #refused = 0;

  constructor(limits: ShareLimits) {
    this.#limits = limits;
  }

  /** `delayed`: had to wait. `overflowed`: should have, but too many were waiting. */
  get stats(): {
    readonly waiting: number;
    readonly delayed: number;
    readonly overflowed: number;
    readonly refused: number;
  } {
    return {
      waiting: this.#waiting,
      delayed: this.#delayed,
      overflowed: this.#overflowed,
      refused: this.#refused,
    };
  }

  /**
   * Does the work when it is this peer's turn; `bytes` are in memory until then.
   * @throws ShareExceededError if the budget is used up, before the work has begun
   */
  async run<T>(name: string, bytes: number, work: () => Promise<T>): Promise<T> {
    const { budget } = this.#limits;
    if (budget !== undefined) this.#spend(name, bytes, budget);
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
      if (this.#limits.budget !== undefined) throw this.#refusal(name);
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

  /** A peer with something left may take more than that: one large piece must be possible. */
  #spend(name: string, bytes: number, { bytesAtOnce, bytesPerSecond }: Budget): void {
    const nowMs = performance.now();
    const before = this.#used.get(name) ?? { bytes: 0, atMs: nowMs, isOver: false };
    const restored = ((nowMs - before.atMs) / 1_000) * bytesPerSecond;
    const used = { ...before, bytes: Math.max(0, before.bytes - restored), atMs: nowMs };
    this.#used.delete(name);
    this.#used.set(name, used);
    if (this.#used.size > USED_MAX) this.#forgetOldest();
    if (used.bytes >= bytesAtOnce) throw this.#refusal(name);
    if (used.bytes < bytesAtOnce / 2) used.isOver = false;
    used.bytes += bytes;
  }

  #forgetOldest(): void {
    const [oldest] = this.#used.keys();
    if (oldest !== undefined) this.#used.delete(oldest);
  }

  #refusal(name: string): ShareExceededError {
    this.#refused += 1;
    const used = this.#used.get(name);
    const error = new ShareExceededError(name, used?.isOver === true);
    if (used !== undefined) used.isOver = true;
    return error;
  }

  /** Requests that have run for this long are not counted any more. */
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
