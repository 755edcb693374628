import { randomBytes } from 'node:crypto';
import { type Bus, ConnectionWatch, isRecord, SUBJECT_ROOT } from '@brine/bus';

const SUBJECT = `${SUBJECT_ROOT}.epochs`;
const ANNOUNCE_MS = 1_000;
/** A process that is silent for this time counts as gone; a rotation does not wait for it. */
const SILENT_MS = 3_500;
/** Limit of remembered processes; one host has a handful. */
const MAX_HOLDERS = 10_000;

interface Answered {
  readonly holding: number;
  readonly name: unknown;
  at: number;
}

/**
 * Tracks which process has the key of which epoch. Every process with AES keys announces its epoch
 * each second, so that a rotation can wait for all of them. A silent publisher is noticed too.
 */
export class EpochHolders {
  readonly #bus: Bus;
  readonly #holding: () => number;
  readonly #id = randomBytes(9).toString('hex');
  readonly #answered = new Map<string, Answered>();
  readonly #onPublisherGone = new Set<() => void>();
  readonly #following: ConnectionWatch;
  readonly #stop: () => void;

  constructor(bus: Bus, holding: () => number) {
    this.#bus = bus;
    this.#holding = holding;
    const subscription = bus.connection.subscribe(SUBJECT, {
      callback: (error, msg) => {
        // Refused to a process that only announces and never rotates.
        if (error === null || error === undefined) this.#receive(msg.data);
      },
    });
    this.#stop = () => {
      if (!subscription.isClosed()) subscription.unsubscribe();
    };
    this.#following = new ConnectionWatch(bus, {
      everyMs: ANNOUNCE_MS,
      gapMs: 2 * ANNOUNCE_MS,
      graceMs: 0,
      onAgain: (now) => {
        for (const answered of this.#answered.values()) answered.at = now;
      },
      onBeat: () => this.#beat(),
    });
    this.announce();
  }

  /** Calls back when another publisher has closed, or was silent for 3.5 s. */
  onPublisherGone(callback: () => void): void {
    this.#onPublisherGone.add(callback);
  }

  /** Announces the epoch of this process at once. */
  announce(): void {
    this.#announce({});
  }

  /** True if every recently announced process has this epoch's key. */
  allHave(epoch: number): boolean {
    const now = performance.now();
    for (const { holding, at } of this.#answered.values()) {
      if (now - at <= SILENT_MS && holding < epoch) return false;
    }
    return this.#holding() >= epoch;
  }

  /** Number of other processes that announced themselves recently. */
  get others(): number {
    return [...this.#answered.keys()].filter((id) => id !== this.#id).length;
  }

  close(): void {
    this.#following.close();
    this.#onPublisherGone.clear();
    this.#stop();
    this.#announce({ gone: true });
  }

  #announce(more: { readonly gone?: true }): void {
    const { connection, name } = this.#bus;
    if (connection.isClosed() || connection.isDraining()) return;
    const announced = { id: this.#id, holding: this.#holding(), name, ...more };
    connection.publish(SUBJECT, JSON.stringify(announced));
  }

  #beat(): void {
    this.announce();
    const now = performance.now();
    if (!this.#following.silenceCounts(now)) return;
    for (const [id, { at }] of this.#answered) if (now - at > SILENT_MS) this.#forget(id);
  }

  #forget(id: string): void {
    const answered = this.#answered.get(id);
    if (answered === undefined) return;
    this.#answered.delete(id);
    if (answered.name !== 'publisher' || id === this.#id) return;
    for (const callback of [...this.#onPublisherGone]) callback();
  }

  #receive(data: Uint8Array): void {
    let value: unknown;
    try {
      value = JSON.parse(Buffer.from(data).toString('utf8'));
    } catch {
      return; // not sent by a process of ours
    }
    if (!isRecord(value)) return;
    const { id, holding, name, gone } = value;
    if (typeof id !== 'string' || typeof holding !== 'number') return;
    if (gone === true) return this.#forget(id);
    if (this.#answered.size >= MAX_HOLDERS && !this.#answered.has(id)) return;
    this.#answered.set(id, { holding, name, at: performance.now() });
  }
}
