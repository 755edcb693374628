import type { Bus } from '@brine/bus';
import { publishPresence } from '@brine/bus/rpc';
import { packProofs, ProofBoard } from '@brine/presence';
import { isQuestionJid } from './presence-question.ts';

/** Proofs of this interval go out in one message, ms. */
const REPORT_MS = 500;

/** Reports the minions that proved themselves to this worker to the owner of presence. */
export class ProofReporter {
  readonly #bus: Bus;
  readonly #board = new ProofBoard();
  readonly #timer: NodeJS.Timeout;

  constructor(bus: Bus) {
    this.#bus = bus;
    this.#timer = setInterval(() => this.#report(), REPORT_MS);
    this.#timer.unref();
  }

  /** Number of minions that found no room in a message, since the start. */
  get leftOut(): number {
    return this.#board.leftOut;
  }

  proven(id: string, address: string | undefined, jid: string | undefined): void {
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
