import type { Bus } from '@brine/bus';
import { publishPresence } from '@brine/bus/rpc';
import { packProofs, ProofBoard } from '@brine/presence';
import { isQuestionJid } from './presence-question.ts';

/** What a worker hears within so long is one word, ms. */
const REPORT_MS = 500;

/** Tells the owner of presence which minions proved themselves to this worker. */
export class ProofReporter {
  readonly #bus: Bus;
  readonly #board = new ProofBoard();
  readonly #timer: NodeJS.Timeout;

  constructor(bus: Bus) {
    this.#bus = bus;
    this.#timer = setInterval(() => this.#report(), REPORT_MS);
    this.#timer.unref();
  }

  /** Minions that found no room in a word, since the start. */
  get leftOut(): number {
    return this.#board.leftOut;
  }

  heard(id: string, address: string | undefined, jid: string | undefined): void {
    const answers = jid !== undefined && isQuestionJid(jid);
    this.#board.add(id, address ?? '', answers, performance.now());
  }

  close(): void {
    clearInterval(this.#timer);
    this.#report();
  }

  #report(): void {
    for (const report of this.#board.take(performance.now())) {
      publishPresence(this.#bus, 'heard', packProofs(report));
    }
  }
}
