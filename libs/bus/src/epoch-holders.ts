import { randomBytes } from 'node:crypto';
import type { Bus } from './connect.ts';
import { isRecord } from './js-api.ts';
import { SUBJECT_ROOT } from './names.ts';

const SUBJECT = `${SUBJECT_ROOT}.epochs`;
const ANNOUNCE_MS = 1_000;
/** A process that was silent for so long is gone: it is not waited for. */
const SILENT_MS = 3_500;
/** Processes remembered at once; one host has a handful. */
const MAX_HOLDERS = 10_000;

/**
 * Who holds the key of which epoch: every process that has AES keys says so each second, so that a
 * rotation can wait for all of them.
 */
export class EpochHolders {
  readonly #bus: Bus;
  readonly #holding: () => number;
  readonly #id = randomBytes(9).toString('hex');
  readonly #heard = new Map<string, { holding: number; at: number }>();
  readonly #timer: NodeJS.Timeout;
  readonly #stop: () => void;

  constructor(bus: Bus, holding: () => number) {
    this.#bus = bus;
    this.#holding = holding;
    const subscription = bus.connection.subscribe(SUBJECT, {
      callback: (error, msg) => {
        // Refused to a process that only announces; it rotates nothing.
        if (error === null || error === undefined) this.#hear(msg.data);
      },
    });
    this.#stop = () => {
      if (!subscription.isClosed()) subscription.unsubscribe();
    };
    this.#timer = setInterval(() => this.announce(), ANNOUNCE_MS);
    this.announce();
  }

  /** Tells the others now what this process holds. */
  announce(): void {
    const { connection } = this.#bus;
    if (connection.isClosed() || connection.isDraining()) return;
    connection.publish(SUBJECT, JSON.stringify({ id: this.#id, holding: this.#holding() }));
  }

  /** Whether every process heard of lately holds this epoch's key. */
  allHold(epoch: number): boolean {
    const now = performance.now();
    for (const [id, { holding, at }] of this.#heard) {
      if (now - at > SILENT_MS) this.#heard.delete(id);
      else if (holding < epoch) return false;
    }
    return this.#holding() >= epoch;
  }

  /** Other processes heard of lately. */
  get others(): number {
    return [...this.#heard.keys()].filter((id) => id !== this.#id).length;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#stop();
  }

  #hear(data: Uint8Array): void {
    let value: unknown;
    try {
      value = JSON.parse(Buffer.from(data).toString('utf8'));
    } catch {
      return; // nothing that a process of ours sent
    }
    if (!isRecord(value)) return;
    const { id, holding } = value;
    if (typeof id !== 'string' || typeof holding !== 'number') return;
    if (this.#heard.size >= MAX_HOLDERS && !this.#heard.has(id)) return;
    this.#heard.set(id, { holding, at: performance.now() });
  }
}
