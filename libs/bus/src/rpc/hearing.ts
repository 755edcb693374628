import type { Bus } from '../connection/connect.ts';
import { CLAIM_MS } from './request-frame.ts';

const BEAT_MS = 500;

/**
 * Whether silence tells of the workers, and not of us: while the connection is away, and for a
 * while after this process itself was stopped or cut off, nobody can be heard.
 */
export class Hearing {
  readonly #bus: Bus;
  readonly #onAnew: (now: number) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #stopListening: () => void;
  #lastBeat = performance.now();
  #graceUntil = 0;

  /** `onAnew`: hearing begins again. `onBeat`: twice a second while silence means something. */
  constructor(bus: Bus, onAnew: (now: number) => void, onBeat: (now: number) => void) {
    this.#bus = bus;
    this.#onAnew = onAnew;
    this.#stopListening = bus.onReconnect(() => this.#anew());
    this.#timer = setInterval(() => {
      const now = performance.now();
      if (this.silenceCounts(now)) onBeat(now);
      this.#lastBeat = now;
    }, BEAT_MS);
  }

  /** Whether who is silent now is silent by himself. */
  silenceCounts(now: number): boolean {
    if (now - this.#lastBeat > BEAT_MS * 3) this.#anew();
    return this.#bus.status === 'connected' && now > this.#graceUntil;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#stopListening();
  }

  #anew(): void {
    const now = performance.now();
    this.#lastBeat = now;
    this.#graceUntil = now + CLAIM_MS;
    this.#onAnew(now);
  }
}
