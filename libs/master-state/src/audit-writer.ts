import { randomBytes } from 'node:crypto';
import type { EventWriter } from '@brine/bus/events';
import { AUDIT_BEGINNING, type AuditSeal } from '@brine/crypt';
import type { AuditedAct, AuditRow } from '@brine/job';
import { storableText } from '@brine/wire';

interface WaitingAct {
  readonly act: AuditedAct;
  readonly at: string;
  readonly leftOut: number;
}

/** Acts that wait; beyond that they are counted and told of by the next row. */
const WAITING_MAX = 10_000;
/** Rows of one message: some 100 KB. */
const BATCH_MAX = 200;
const GATHER_MS = 100;
const RETRY_MS = 1_000;
const CLOSE_MS = 3_000;
/** Code points of a text on record, which strangers may choose. A minion id fits whole. */
const TEXT_MAX = 255;

/**
 * Writes what is on record, off the way of the requests: acts are gathered, sealed in a chain that
 * is this writer's own, and appended to EVENTS; the store keeps them.
 */
export class AuditWriter {
  readonly writer: string;
  readonly #events: Pick<EventWriter, 'append'>;
  readonly #seal: AuditSeal;
  readonly #onTrouble: (text: string, error: unknown) => void;
  readonly #waiting: WaitingAct[] = [];
  #leftOut = 0;
  #n = 0;
  #before = AUDIT_BEGINNING;
  #running: Promise<void> | undefined;
  #troubled = false;
  #closed = false;

  constructor(
    events: Pick<EventWriter, 'append'>,
    seal: AuditSeal,
    options: {
      /** What the writer is; its name gets a unique end. */
      readonly name: string;
      readonly onTrouble: (text: string, error: unknown) => void;
    },
  ) {
    this.#events = events;
    this.#seal = seal;
    this.#onTrouble = options.onTrouble;
    this.writer = `${options.name}-${randomBytes(6).toString('hex')}`;
  }

  /** Acts that found no room since the last row. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** Puts an act on record. Never throws and never waits. */
  record(act: AuditedAct): void {
    if (this.#waiting.length >= WAITING_MAX || this.#closed) {
      this.#leftOut += 1;
      return;
    }
    const at = new Date().toISOString();
    this.#waiting.push({ act: storable(act), at, leftOut: this.#leftOut });
    this.#leftOut = 0;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Counts an act that is not put on record; the next row tells of it. */
  leaveOut(): void {
    this.#leftOut += 1;
  }

  /** Writes what waits, for 3 s at most, with a last row that tells of the end. */
  async close(): Promise<void> {
    if (this.#n > 0 || this.#waiting.length > 0) {
      this.record({ kind: 'key', outcome: 'end of record' });
    }
    this.#closed = true;
    const late = new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref());
    await Promise.race([this.#running, late]);
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      if (!this.#closed) await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      const rows = this.#sealed(this.#waiting.splice(0, BATCH_MAX));
      await this.#append(rows);
    }
  }

  #sealed(acts: readonly WaitingAct[]): AuditRow[] {
    return acts.map(({ act, at, leftOut }) => {
      this.#n += 1;
      const argsHash = act.argsHash && this.#seal.blind(act.argsHash);
      const told = { at, ...act, ...(argsHash && { argsHash }), ...(leftOut > 0 && { leftOut }) };
      const body = JSON.stringify(told);
      const before = this.#before;
      const row = { writer: this.writer, n: this.#n, body };
      this.#before = this.#seal.of(row, before);
      return { ...row, before, seal: this.#before };
    });
  }

  /** Sealed rows are tried until they are in the stream: a gap would read as a deletion. */
  async #append(rows: readonly AuditRow[]): Promise<void> {
    const event = {
      kind: 'audit',
      tag: 'brine/audit',
      body: Buffer.from(JSON.stringify(rows), 'utf8'),
      msgId: `audit:${this.writer}:${rows[0]?.n ?? 0}`,
    } as const;
    for (;;) {
      try {
        await this.#events.append(event);
        this.#troubled = false;
        return;
      } catch (error) {
        if (!this.#troubled) this.#onTrouble('what is on record waits for the stream', error);
        this.#troubled = true;
        if (this.#closed) return;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }
}

/** Every text of an act as the store takes it, and no longer than a row has room for. */
function storable(act: AuditedAct): AuditedAct {
  const told = Object.entries(act).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'string' ? storableText(value, TEXT_MAX) : value,
  ]);
  return Object.fromEntries(told) as AuditedAct;
}
