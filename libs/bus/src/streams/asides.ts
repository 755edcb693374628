import { errorText } from '@brine/tasks';
/** A message of a stream that a reader skipped. */
export interface Aside {
  readonly stream: string;
  /** The durable name; `live` for a reader without one. */
  readonly reader: string;
  readonly subject: string;
  readonly seq: number;
  /** The reason. */
  readonly why: string;
}

/** How many messages of a stream a reader skipped. */
export interface AsideCount {
  readonly stream: string;
  readonly reader: string;
  readonly count: number;
}

/**
 * How often a message that could not be handled is delivered, and the pause between, in ms. Trouble
 * that the message itself does not cause may be over by then.
 */
export const TRIES_MAX = 10;
export const RETRY_MS = 2_000;

/** Messages that are reported one by one for each reader; further ones are only counted. */
const REPORTS_MAX = 10;
/** Longest text of a failure. */
const WHY_MAX_CHARS = 500;

/**
 * Messages that the readers of one connection skipped: no message may stop a reader, whatever it
 * contains. Other readers still get the message, since each has a place of its own.
 */
export class Asides {
  readonly #counts = new Map<string, { stream: string; reader: string; count: number }>();
  readonly #onQuarantined: (aside: Aside) => void;

  constructor(onQuarantined: (aside: Aside) => void = () => undefined) {
    this.#onQuarantined = onQuarantined;
  }

  /** By stream and reader. */
  get counts(): readonly AsideCount[] {
    return [...this.#counts.values()];
  }

  /** Counts a message that a reader skips, and reports the first ones. */
  add(aside: Omit<Aside, 'why'>, error: unknown): void {
    const { stream, reader } = aside;
    const key = `${stream} ${reader}`;
    const counted = this.#counts.get(key) ?? { stream, reader, count: 0 };
    counted.count += 1;
    this.#counts.set(key, counted);
    if (counted.count > REPORTS_MAX) return;
    const why = errorText(error).slice(0, WHY_MAX_CHARS);
    this.#onQuarantined({ ...aside, why });
  }
}

/** A message that may fail. */
interface Failing {
  failed(error: unknown): void;
}

/**
 * Handles messages one after the other until there are no more. When handling throws, the message
 * fails: it is delivered again or skipped, and the next one follows.
 */
export async function handleEach<T extends Failing>(
  messages: AsyncIterable<T>,
  handle: (message: T) => Promise<void> | void,
): Promise<void> {
  for await (const message of messages) {
    try {
      const handling = handle(message);
      if (handling !== undefined) await handling;
    } catch (error) {
      message.failed(error);
    }
  }
}
