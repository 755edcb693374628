import type { SaltMap } from '@brine/wire';
import { RUNNER, type RunRecord } from './run-record.ts';

/** How a held run reaches its record. */
export interface RunStorePorts {
  /** Whether this worker's lease still holds, by the clock now. */
  isLeased(): boolean;
  /** Writes the record over the revision; gives the new one, undefined where it is another's. */
  write(jid: string, record: RunRecord, revision: number): Promise<number | undefined>;
  /** Stores what never changes; gives the name of its key. */
  writeInput(jid: string, fixed: SaltMap): Promise<string>;
  /** Takes the run away: it has ended. */
  remove(held: StoredRun, last: SaltMap | undefined): Promise<void>;
  /** This worker has the run no more. */
  released(held: StoredRun): void;
  /** The error of a run that is another worker's. */
  releasedError(jid: string): Error;
}

/** A run that this worker owns. */
export class StoredRun {
  readonly jid: string;
  readonly #ports: RunStorePorts;
  readonly #controller = new AbortController();
  readonly #messages: SaltMap[] = [];
  #input: SaltMap;
  #record: RunRecord;
  #revision: number;
  #writing: Promise<unknown> = Promise.resolve();
  #delivered = 0;
  #handler: ((word: SaltMap) => void) | undefined;

  constructor(
    ports: RunStorePorts,
    about: {
      readonly jid: string;
      readonly record: RunRecord;
      readonly revision: number;
      readonly fixed: SaltMap;
    },
  ) {
    this.#ports = ports;
    this.jid = about.jid;
    this.#input = about.fixed;
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
  get input(): SaltMap {
    return this.#input;
  }

  get inputKey(): string | undefined {
    return this.#record.inputKey;
  }

  get call(): SaltMap {
    return this.#record.call;
  }

  get takeovers(): number {
    return this.#record.takeovers;
  }

  get replacesKind(): string | undefined {
    return this.#record.replacesKind;
  }

  get revision(): number {
    return this.#revision;
  }

  get released(): AbortSignal {
    return this.#controller.signal;
  }

  check(): void {
    if (this.kind !== RUNNER && !this.#ports.isLeased()) this.release();
    if (this.released.aborted) throw this.#ports.releasedError(this.jid);
  }

  /** The run is another worker's now, or nobody's: its work has to stop. */
  release(): void {
    if (this.released.aborted) return;
    this.#ports.released(this);
    this.#controller.abort(this.#ports.releasedError(this.jid));
  }

  save(data: SaltMap): Promise<void> {
    return this.rewrite((record) => ({ ...record, data, takeovers: 0 }));
  }

  /** Gives the run what never changes, with its next state. */
  async saveInput(fixed: SaltMap, data: SaltMap, kind = this.kind, under = this.replacesKind): Promise<void> {
    const fixedAt = await this.#ports.writeInput(this.jid, fixed);
    await this.rewrite((record) => ({ ...record, kind, replacesKind: under, data, inputKey: fixedAt, takeovers: 0 }));
    this.#input = fixed;
  }

  /** Changes the record, one change after the other. */
  rewrite(change: (record: RunRecord) => RunRecord): Promise<void> {
    const written = this.#writing.then(async () => {
      this.check();
      const next = change(this.#record);
      const revision = await this.#ports.write(this.jid, next, this.#revision);
      if (revision === undefined) this.release();
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

  onMessage(handler: (word: SaltMap) => void): void {
    this.#handler = handler;
    this.#deliverNew();
  }

  /** Takes all words that were left so far. */
  deliver(words: readonly SaltMap[]): void {
    this.#messages.push(...words.slice(this.#messages.length));
    this.#deliverNew();
  }

  async end(last?: SaltMap): Promise<void> {
    await this.settled();
    this.check();
    await this.#ports.remove(this, last);
  }

  #deliverNew(): void {
    const handler = this.#handler;
    if (handler === undefined) return;
    for (; this.#delivered < this.#messages.length;) {
      const word = this.#messages[this.#delivered];
      this.#delivered += 1;
      if (word !== undefined) handler(word);
    }
  }
}
