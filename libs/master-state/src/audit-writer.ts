import { randomBytes } from 'node:crypto';
import type { Bus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { AUDIT_BEGINNING, type AuditSeal } from '@brine/crypt';
import type { AuditedAct, AuditRow } from '@brine/job';
import type { AuditRecord } from '@brine/master';
import type { Trouble } from '@brine/tasks';
import { storableText } from '@brine/wire';

interface WaitingAct {
  readonly act: AuditedAct;
  readonly at: string;
  readonly leftOut: number;
}

/**
 * Limit of acts that wait for the stream; further ones are counted, and the next row has their
 * number.
 */
const WAITING_MAX = 10_000;
/** Limit of rows in one message: about 100 KB. */
const BATCH_MAX = 200;
const GATHER_MS = 100;
const RETRY_MS = 1_000;
const CLOSE_MS = 3_000;
/**
 * Length limit of a recorded text in code points: strangers choose some of them. A minion id fits.
 */
const TEXT_MAX = 255;

/**
 * Records acts without delaying requests: gathers acts, seals them in a chain of its own and
 * appends them to EVENTS, from which the store saves them.
 */
export class AuditWriter {
  readonly writer: string;
  readonly #events: Pick<EventWriter, 'append'>;
  readonly #seal: AuditSeal;
  readonly #onTrouble: Trouble;
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
      /** Prefix of the writer's name; the rest is random. */
      readonly name: string;
      readonly onTrouble: Trouble;
    },
  ) {
    this.#events = events;
    this.#seal = seal;
    this.#onTrouble = options.onTrouble;
    this.writer = `${options.name}-${randomBytes(6).toString('hex')}`;
  }

  /** Number of acts that found no room since the last row. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** Records an act. Never throws and never waits. */
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

  /** Counts an act that is left out; the next row has the number. */
  leaveOut(): void {
    this.#leftOut += 1;
  }

  /** Writes the waiting acts within 3 s, and a last row that marks the end. */
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
      const entry = { at, ...act, ...(argsHash && { argsHash }), ...(leftOut > 0 && { leftOut }) };
      const body = JSON.stringify(entry);
      const before = this.#before;
      const row = { writer: this.writer, n: this.#n, body };
      this.#before = this.#seal.of(row, before);
      return { ...row, before, seal: this.#before };
    });
  }

  /** Retries sealed rows until they are in the stream: a gap would look like a deletion. */
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

/** The act with every text in a form that the store accepts, cut to the size of a row. */
function storable(act: AuditedAct): AuditedAct {
  const entry = Object.entries(act).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'string' ? storableText(value, TEXT_MAX) : value,
  ]);
  return Object.fromEntries(entry) as AuditedAct;
}

/** Limit of recorded refusals. Their rows stay for good, so they are fewer than events. */
const RECORDED_STRANGERS = { atOnce: 200, eachSecond: 1 };

/** Opens the record of a worker. Refusals beyond the limit are only counted. */
export function openAudit(
  bus: Bus,
  seal: AuditSeal,
  options: {
    readonly host: string;
    readonly count: (name: string) => void;
    readonly onTrouble: Trouble;
  },
): AuditRecord & { close(): Promise<void> } {
  const name = `worker-${options.host}`;
  const writer = new AuditWriter(new EventWriter(bus), seal, {
    name,
    onTrouble: options.onTrouble,
  });
  const mayRecord = strangerAllowance(RECORDED_STRANGERS);
  return {
    record: (act) => writer.record(act),
    recordRefusal: (act) => {
      if (mayRecord()) return writer.record(act);
      options.count('audit_left_out');
      writer.leaveOut();
    },
    close: () => writer.close(),
  };
}

/** Limit of a burst of events about refused and waiting log-ins, as when a fleet is rolled out. */
const AT_ONCE = 5_000;

/** Limit per second and worker after that: about 500 MB of events in their retention time. */
const EACH_SECOND = 200;

/**
 * Limits the events of log-ins that were not accepted. Every peer that reaches port 4506 can cause
 * such events, and they take room in the stream that returns need.
 */
export function strangerAllowance(
  { atOnce = AT_ONCE, eachSecond = EACH_SECOND } = {},
  nowMs: () => number = () => performance.now(),
): () => boolean {
  let left = atOnce;
  let at = nowMs();
  return () => {
    const now = nowMs();
    left = Math.min(atOnce, left + ((now - at) / 1000) * eachSecond);
    at = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}
