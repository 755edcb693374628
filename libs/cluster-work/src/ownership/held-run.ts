import type { SaltMap } from '@brine/wire';
import { RUNNER, type RunRecord } from './run-record.ts';

/** How a held run reaches its record. */
export interface HeldRunPorts {
  /** Whether this worker's lease still holds, by the clock now. */
  isLeased(): boolean;
  /** Writes the record over the revision; gives the new one, undefined where it is another's. */
  write(jid: string, record: RunRecord, revision: number): Promise<number | undefined>;
  /** Stores what never changes; gives the name of its key. */
  writeFixed(jid: string, fixed: SaltMap): Promise<string>;
  /** Takes the run away: it has ended. */
  remove(held: HeldRun, last: SaltMap | undefined): Promise<void>;
  /** This worker has the run no more. */
  dropped(held: HeldRun): void;
  /** The error of a run that is another worker's. */
  lostError(jid: string): Error;
}

/** A run that this worker owns. */
export class HeldRun {
  readonly jid: string;
  readonly #ports: HeldRunPorts;
  readonly #controller = new AbortController();
  readonly #words: SaltMap[] = [];
  #fixed: SaltMap;
  #record: RunRecord;
  #revision: number;
  #writing: Promise<unknown> = Promise.resolve();
  #heard = 0;
  #handler: ((word: SaltMap) => void) | undefined;

  constructor(
    ports: HeldRunPorts,
    about: {
      readonly jid: string;
      readonly record: RunRecord;
      readonly revision: number;
      readonly fixed: SaltMap;
    },
  ) {
    this.#ports = ports;
    this.jid = about.jid;
    this.#fixed = about.fixed;
    this.#record = about.record;
    this.#revision = about.revision;
  }

  get kind(): string {
    return this.#record.kind;
  }

  get data(): SaltMap {
    return this.#record.data;
  }

  /** What was given once and never changes. */
  get fixed(): SaltMap {
    return this.#fixed;
  }

  get fixedAt(): string | undefined {
    return this.#record.fixedAt;
  }

  get by(): SaltMap {
    return this.#record.by;
  }

  get moves(): number {
    return this.#record.moves;
  }

  get under(): string | undefined {
    return this.#record.under;
  }

  get revision(): number {
    return this.#revision;
  }

  get lost(): AbortSignal {
    return this.#controller.signal;
  }

  check(): void {
    if (this.kind !== RUNNER && !this.#ports.isLeased()) this.lose();
    if (this.lost.aborted) throw this.#ports.lostError(this.jid);
  }

  /** The run is another worker's now, or nobody's: its work has to stop. */
  lose(): void {
    if (this.lost.aborted) return;
    this.#ports.dropped(this);
    this.#controller.abort(this.#ports.lostError(this.jid));
  }

  save(data: SaltMap): Promise<void> {
    return this.rewrite((record) => ({ ...record, data, moves: 0 }));
  }

  /** Gives the run what never changes, with its next state. */
  async fix(fixed: SaltMap, data: SaltMap, kind = this.kind, under = this.under): Promise<void> {
    const fixedAt = await this.#ports.writeFixed(this.jid, fixed);
    await this.rewrite((record) => ({ ...record, kind, under, data, fixedAt, moves: 0 }));
    this.#fixed = fixed;
  }

  /** Changes the record, one change after the other. */
  rewrite(change: (record: RunRecord) => RunRecord): Promise<void> {
    const written = this.#writing.then(async () => {
      this.check();
      const next = change(this.#record);
      const revision = await this.#ports.write(this.jid, next, this.#revision);
      if (revision === undefined) this.lose();
      this.check();
      if (revision === undefined) return;
      this.#record = next;
      this.#revision = revision;
    });
    this.#writing = written.catch(() => undefined);
    return written;
  }

  /** Resolves when no change is on its way. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  onWord(handler: (word: SaltMap) => void): void {
    this.#handler = handler;
    this.#tell();
  }

  /** Takes all words that were left so far. */
  hear(words: readonly SaltMap[]): void {
    this.#words.push(...words.slice(this.#words.length));
    this.#tell();
  }

  async end(last?: SaltMap): Promise<void> {
    await this.settled();
    this.check();
    await this.#ports.remove(this, last);
  }

  #tell(): void {
    const handler = this.#handler;
    if (handler === undefined) return;
    for (; this.#heard < this.#words.length;) {
      const word = this.#words[this.#heard];
      this.#heard += 1;
      if (word !== undefined) handler(word);
    }
  }
}
