import type { Bus } from '../connection/connect.ts';
import { publish } from '../connection/inbox.ts';
import { subjects } from '../subjects/names.ts';

/** A run of positions in EVENTS, both ends included. */
type Run = readonly [from: number, to: number];

/** Runs kept for a worker that learns the position of its event after the store announced it. */
const KEPT_RUNS = 1_024;
/** The longest accepted run; a group of the store has at most 500 events. */
const LONGEST_RUN = 10_000;

/**
 * Announces which events are in PostgreSQL now, with one message per batch. It is no message of a
 * stream, because a worker that misses it can ask the store.
 */
export function announceCommits(bus: Bus, seqs: readonly number[]): void {
  if (bus.status !== 'connected' || seqs.length === 0) return;
  publish(bus.connection, subjects.committed, JSON.stringify(runsOf(seqs)));
}

/** Neighbouring numbers as runs. */
export function runsOf(seqs: readonly number[]): Run[] {
  const runs: [number, number][] = [];
  for (const seq of [...seqs].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last !== undefined && seq <= last[1] + 1) last[1] = seq;
    else runs.push([seq, seq]);
  }
  return runs;
}

/** Listens for the commits of the store, for replies that wait for one. */
export class CommitWatch {
  readonly #bus: Bus;
  readonly #waiting = new Map<number, Set<(committed: boolean) => void>>();
  #recent: Run[] = [];
  readonly #stop: () => void;

  constructor(bus: Bus) {
    this.#bus = bus;
    const subscription = bus.connection.subscribe(subjects.committed, {
      callback: (_error, msg) => this.#take(readRuns(msg.data)),
    });
    // A stream that was put back from a copy gives the same positions again.
    const forget = bus.onReconnect(() => (this.#recent = []));
    this.#stop = () => {
      forget();
      if (!bus.connection.isClosed()) subscription.unsubscribe();
    };
  }

  /** How many positions are waited for. */
  get size(): number {
    return this.#waiting.size;
  }

  /** True if the store announces within the time that this position of EVENTS is committed. */
  committed(seq: number, timeoutMs: number): Promise<boolean> {
    if (this.#recent.some(([from, to]) => from <= seq && seq <= to)) return Promise.resolve(true);
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(seq) ?? new Set();
      this.#waiting.set(seq, waiting);
      const settle = (committed: boolean): void => {
        timer.clear();
        waiting.delete(settle);
        if (waiting.size === 0) this.#waiting.delete(seq);
        resolve(committed);
      };
      const timer = this.#bus.wheel.set(timeoutMs, () => settle(false));
      waiting.add(settle);
    });
  }

  /** Stops listening. Every wait that is left resolves with false. */
  close(): void {
    this.#stop();
    for (const waiting of [...this.#waiting.values()]) {
      for (const settle of [...waiting]) settle(false);
    }
  }

  #take(runs: readonly Run[]): void {
    this.#recent.push(...runs);
    if (this.#recent.length > 2 * KEPT_RUNS) this.#recent = this.#recent.slice(-KEPT_RUNS);
    for (const [from, to] of runs) {
      for (let seq = from; seq <= to; seq++) {
        for (const settle of [...(this.#waiting.get(seq) ?? [])]) settle(true);
      }
    }
  }
}

/** Reads such a message; empty for anything that {@link announceCommits} did not make. */
export function readRuns(data: Uint8Array): readonly Run[] {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString('latin1'));
  } catch {
    return []; // Not a notice. Waits time out, and then the worker asks the store.
  }
  return Array.isArray(value) ? value.filter(isRun) : [];
}

function isRun(value: unknown): value is Run {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [from, to] = value as unknown[];
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return false;
  return Number(from) <= Number(to) && Number(to) - Number(from) < LONGEST_RUN;
}
