import type { OwnedRun } from '@brine/runners';
import type { SaltMap } from '@brine/wire';
import { RUNNER, type RunRecord } from './run-record.ts';

/** Access of a run to its record. */
export interface RunPorts {
  /** True if the lease of this process is valid, by the clock now. */
  isLeased(): boolean;
  /** Replaces a revision. Returns the new one, or undefined if another process owns the record. */
  write(jid: string, record: RunRecord, revision: number): Promise<number | undefined>;
  /** Stores data that never changes; returns its key. */
  writeInput(jid: string, input: SaltMap): Promise<string>;
  /** Removes the run because it has ended. */
  remove(run: StoredRun, last: SaltMap | undefined): Promise<void>;
  /** Called when this process no longer owns the run. */
  released(run: StoredRun): void;
  /** Makes the error of a run that another process owns. */
  releasedError(jid: string): Error;
}

/** Contents of a {@link StoredRun}. */
export interface RunParts {
  readonly jid: string;
  readonly record: RunRecord;
  readonly revision: number;
  readonly input: SaltMap;
  /** True if the run has had no owner before: its call has not begun. */
  readonly isNew: boolean;
}

/** A run that this process owns, and its record in the bucket. */
export class StoredRun implements OwnedRun {
  readonly jid: string;
  readonly isNew: boolean;
  readonly #ports: RunPorts;
  readonly #controller = new AbortController();
  readonly #messages: SaltMap[] = [];
  #input: SaltMap;
  #record: RunRecord;
  #revision: number;
  #writing: Promise<unknown> = Promise.resolve();
  #delivered = 0;
  #handler: ((message: SaltMap) => void) | undefined;

  constructor(ports: RunPorts, { jid, record, revision, input, isNew }: RunParts) {
    this.#ports = ports;
    this.jid = jid;
    this.isNew = isNew;
    this.#input = input;
    this.#record = record;
    this.#revision = revision;
  }

  get record(): RunRecord {
    return this.#record;
  }

  get revision(): number {
    return this.#revision;
  }

  get kind(): string {
    return this.#record.kind;
  }

  get call(): SaltMap {
    return this.#record.call;
  }

  get takeovers(): number {
    return this.#record.takeovers;
  }

  get data(): SaltMap {
    return this.#record.data;
  }

  get input(): SaltMap {
    return this.#input;
  }

  get released(): AbortSignal {
    return this.#controller.signal;
  }

  check(): void {
    if (this.kind !== RUNNER && !this.#ports.isLeased()) this.release();
    if (this.released.aborted) throw this.#ports.releasedError(this.jid);
  }

  /** Stops the work on the run: another process owns it, or none does. */
  release(): void {
    if (this.released.aborted) return;
    this.#ports.released(this);
    this.#controller.abort(this.#ports.releasedError(this.jid));
  }

  save(data: SaltMap): Promise<void> {
    return this.rewrite((record) => ({ ...record, data, takeovers: 0 }));
  }

  saveInput(input: SaltMap, data: SaltMap): Promise<void> {
    return this.#rewriteInput(input, data, {});
  }

  /** Changes the kind of the run until it ends. */
  replace(kind: string, input: SaltMap, data: SaltMap): Promise<void> {
    return this.#rewriteInput(input, data, { kind, replacesKind: this.kind });
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

  onMessage(handler: (message: SaltMap) => void): void {
    this.#handler = handler;
    this.#deliverNew();
  }

  /** Takes all messages that were sent so far. */
  deliver(messages: readonly SaltMap[]): void {
    this.#messages.push(...messages.slice(this.#messages.length));
    this.#deliverNew();
  }

  async end(last?: SaltMap): Promise<void> {
    await this.#writing;
    this.check();
    await this.#ports.remove(this, last);
  }

  async #rewriteInput(
    input: SaltMap,
    data: SaltMap,
    kinds: Pick<RunRecord, 'replacesKind'> & { readonly kind?: string },
  ): Promise<void> {
    const inputKey = await this.#ports.writeInput(this.jid, input);
    await this.rewrite((record) => ({ ...record, ...kinds, data, inputKey, takeovers: 0 }));
    this.#input = input;
  }

  #deliverNew(): void {
    const handler = this.#handler;
    if (handler === undefined) return;
    for (; this.#delivered < this.#messages.length;) {
      const message = this.#messages[this.#delivered];
      this.#delivered += 1;
      if (message !== undefined) handler(message);
    }
  }
}
