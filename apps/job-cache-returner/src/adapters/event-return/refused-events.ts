import type { EventReturner, EventToReturn } from '@brine/event-return';
import { eventId } from '@brine/event-return';
import type { QuarantineRow, Refusal, RefusedRow } from '@brine/job-cache';

/** Most refused events that are kept: a returner that refuses all would fill the database. */
const KEPT_MAX = 10_000;
/** Interval of counting them, in ms. */
const COUNT_EVERY_MS = 60_000;

/** The connections for keeping refused events. */
export interface RefusedEventsPorts {
  /** Throws a retryable error while PostgreSQL is unreachable. */
  readonly putAway: (refusal: Refusal, error: unknown) => Promise<RefusedRow>;
  /** Counts the kept events. Throws the same. */
  readonly count: () => Promise<number>;
  readonly warn: (text: string) => void;
  /** A monotonic clock, ms. */
  readonly now: () => number;
}

/** The events that returners refuse for good. They are in quarantine until an operator acts. */
export class RefusedEvents {
  readonly #ports: RefusedEventsPorts;
  #kept = 0;
  #countedMs = -Infinity;
  #isFull = false;

  constructor(ports: RefusedEventsPorts) {
    this.#ports = ports;
  }

  /**
   * Keeps an event; a repeated event is one row. Beyond a limit events are dropped, logged once.
   */
  async keep(returner: string, event: EventToReturn, error: unknown): Promise<object> {
    const { count, now, putAway, warn } = this.#ports;
    if (now() - this.#countedMs > COUNT_EVERY_MS) {
      this.#kept = await count();
      this.#countedMs = now();
    }
    if (this.#kept >= KEPT_MAX) {
      if (!this.#isFull) warn(`${KEPT_MAX} refused events are in quarantine; more are dropped`);
      this.#isFull = true;
      return {};
    }
    this.#isFull = false;
    this.#kept += 1;
    const { tag, timeMs, data, position } = event;
    return putAway(
      {
        // Each of several returners may refuse it, and a message may give several events.
        kind: 'event',
        jid: '',
        id: returner,
        seq: 0,
        incarnation: `${returner.slice(0, 100)} ${eventId(event)}`,
        raw: data,
        receivedAt: Math.floor(timeMs),
        about: { returner, tag, timeMs, position },
      },
      error,
    );
  }
}

/** Retries an event from quarantine; false without its returner here. Throws ReturnerError. */
export async function returnAgain(
  row: QuarantineRow,
  returners: readonly EventReturner[],
): Promise<boolean> {
  const { returner, tag, timeMs, position } = row.about;
  const found = returners.find(({ name }) => name === returner);
  if (found === undefined || typeof tag !== 'string') return false;
  await found.writeAgain({
    tag,
    timeMs: typeof timeMs === 'number' ? timeMs : (row.storedMs ?? row.atMs),
    data: row.raw,
    position: typeof position === 'string' ? position : '',
  });
  return true;
}
