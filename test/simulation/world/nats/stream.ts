import type { SimMessage } from './message.ts';
import { matcherOf } from './message.ts';

/** A stored message. */
export interface Stored {
  readonly seq: number;
  readonly timeMs: number;
  readonly message: SimMessage;
}

/** What an append came to. */
export type Append =
  | { readonly kind: 'stored' | 'duplicate'; readonly seq: number }
  | { readonly kind: 'conflict' | 'full' };

const DUPLICATE_WINDOW_MS = 120_000;

/** One stream: what is kept on disk. */
export class SimStream {
  readonly config: Readonly<Record<string, unknown>>;
  readonly name: string;
  readonly created: string;
  readonly messages = new Map<number, Stored>();
  firstSeq = 1;
  lastSeq = 0;
  readonly #subjects: readonly ((subject: string) => boolean)[];
  readonly #perSubject: number;
  readonly #ids = new Map<string, { readonly seq: number; readonly at: number }>();
  readonly #last = new Map<string, number>();

  constructor(config: Readonly<Record<string, unknown>>, created: string) {
    this.config = config;
    this.name = String(config['name']);
    this.#subjects = (config['subjects'] as readonly string[]).map(matcherOf);
    this.#perSubject = Number(config['max_msgs_per_subject'] ?? -1);
    this.created = created;
  }

  takes(subject: string): boolean {
    return this.#subjects.some((matches) => matches(subject));
  }

  append(message: SimMessage, timeMs: number, isFull: boolean): Append {
    const { subject, headers } = message;
    const id = headers?.get('Nats-Msg-Id') ?? '';
    const known = id === '' ? undefined : this.#ids.get(id);
    if (known !== undefined && timeMs - known.at < DUPLICATE_WINDOW_MS) {
      return { kind: 'duplicate', seq: known.seq };
    }
    if (isFull) return { kind: 'full' };
    const expected = headers?.get('Nats-Expected-Last-Subject-Sequence') ?? '';
    const last = this.#last.get(subject);
    if (expected !== '' && Number(expected) !== (last ?? 0)) return { kind: 'conflict' };
    this.lastSeq += 1;
    const seq = this.lastSeq;
    this.messages.set(seq, { seq, timeMs, message });
    if (this.#perSubject === 1 && last !== undefined) this.messages.delete(last);
    this.#last.set(subject, seq);
    if (id !== '') this.#ids.set(id, { seq, at: timeMs });
    return { kind: 'stored', seq };
  }

  lastOf(subject: string): Stored | undefined {
    return this.messages.get(this.#last.get(subject) ?? 0);
  }

  /** The first message at or after a time. */
  since(timeMs: number): Stored | undefined {
    for (const stored of this.messages.values()) if (stored.timeMs >= timeMs) return stored;
    return undefined;
  }

  /** The last message of each subject, in their order. */
  lastOfEach(): readonly number[] {
    return [...this.#last.values()].filter((seq) => this.messages.has(seq)).sort((a, b) => a - b);
  }

  /** Forgets everything before a sequence; how many that were. */
  purge(before: number): number {
    let purged = 0;
    for (const seq of this.messages.keys()) {
      if (seq >= before) break;
      this.messages.delete(seq);
      purged += 1;
    }
    this.firstSeq = Math.max(this.firstSeq, Math.min(before, this.lastSeq + 1));
    return purged;
  }

  /** A message was acknowledged: a queue of work keeps it no longer. */
  done(seq: number): void {
    if (this.config['retention'] === 'workqueue') this.messages.delete(seq);
  }

  /** The server was killed: it knows the ids of those messages only that it still has. */
  restarted(): void {
    for (const [id, { seq }] of this.#ids) if (!this.messages.has(seq)) this.#ids.delete(id);
  }

  /** A copy of what is on disk now. */
  copy(): SimStream {
    const copy = new SimStream(this.config, this.created);
    copy.firstSeq = this.firstSeq;
    copy.lastSeq = this.lastSeq;
    for (const [seq, stored] of this.messages) copy.messages.set(seq, stored);
    for (const [id, known] of this.#ids) copy.#ids.set(id, known);
    for (const [subject, seq] of this.#last) copy.#last.set(subject, seq);
    return copy;
  }
}
