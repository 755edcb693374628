import { ConnectionBoard } from '../src/connection-board.ts';
import { packReport, readReport } from '../src/index.ts';
import { Presence, type PresenceOptions } from '../src/presence.ts';
import type { PublisherReport } from '../src/reports.ts';

/** A grace that tests can count with, ms. */
export const GRACE_MS = 30_000;

/** The owner of presence, with publishers and a clock that a test moves. */
export class Rig {
  now = 1_000_000;
  readonly presence: Presence;
  /** Minions that were asked, one list for each question. */
  readonly asked: (readonly string[])[] = [];
  /** Minions that answer questions, after a second. */
  readonly answering = new Set<string>();
  readonly refused = new Set<string>();
  readonly #boards = new Map<string, ConnectionBoard>();
  readonly #away = new Set<ConnectionBoard>();
  #answers: { readonly id: string; readonly atMs: number }[] = [];

  constructor(options: Partial<PresenceOptions> = {}) {
    this.presence = new Presence({
      graceMs: GRACE_MS,
      asks: true,
      provenForMs: 3_600_000,
      isAccepted: (id) => !this.refused.has(id),
      answers: () => true,
      wallOf: (ms) => ms + 1_700_000_000_000,
      ...options,
    });
  }

  /** A publisher that has reported all it has. */
  publisher(by = 'p1', host = 'a'): ConnectionBoard {
    const board = new ConnectionBoard(by, host);
    this.#boards.set(by, board);
    for (const report of board.whole()) this.report(report);
    return board;
  }

  /** As if the report had gone over the bus. */
  report(report: PublisherReport): void {
    const read = readReport(packReport(report));
    if (read === undefined) throw new Error('a report that can not be read');
    this.presence.takeReport(read, this.now);
  }

  /** A publisher ends without `bye`. */
  kill(board: ConnectionBoard): void {
    this.#away.add(board);
  }

  bye(board: ConnectionBoard): void {
    this.report(board.bye());
    this.#away.add(board);
  }

  /** Reports of a publisher do not arrive for a while. */
  mute(board: ConnectionBoard): () => void {
    this.#away.add(board);
    return () => void this.#away.delete(board);
  }

  proves(id: string, address = '', answers = false): void {
    this.presence.takeProofs([{ id, address, agoMs: 0, answers }], this.now);
  }

  /** The minion logs in from an address, and connects. */
  join(board: ConnectionBoard, id: string, address: string): void {
    board.opened(address);
    this.report(board.changes());
    this.proves(id, address);
  }

  /** Lets so many seconds go by, a second at a time. */
  run(seconds: number): void {
    for (let second = 0; second < seconds; second += 1) {
      this.now += 1_000;
      for (const board of this.#boards.values()) {
        if (!this.#away.has(board)) this.#sendReport(board);
      }
      const due = this.#answers.filter(({ atMs }) => atMs <= this.now);
      this.#answers = this.#answers.filter(({ atMs }) => atMs > this.now);
      for (const { id } of due) this.proves(id, '', true);
      const ids = this.presence.judge(this.now);
      if (ids.length === 0) continue;
      this.asked.push(ids);
      for (const id of ids) {
        if (this.answering.has(id)) this.#answers.push({ id, atMs: this.now + 1_000 });
      }
    }
  }

  /** Which minions are present. */
  present(): readonly string[] {
    return this.presence.changes().present;
  }

  /** Reports what changed since the last time. */
  tick(): { readonly added: readonly string[]; readonly lost: readonly string[] } {
    const changes = this.presence.changes();
    this.presence.confirm(changes);
    const { added, lost } = changes;
    return { added, lost };
  }

  #sendReport(board: ConnectionBoard): void {
    this.report(board.changes());
    if (!this.presence.publishers.wantsList) return;
    for (const report of board.whole()) this.report(report);
  }
}
