import { randomBytes } from 'node:crypto';
import { type Event, type Jid, jobReturnTag } from '@brine/job';
import { InFlight } from '@brine/tasks';
import { pack, type SaltMap, unpackMap, WireError } from '@brine/wire';
import { splitEvent } from '@brine/wire/frames';
import { buildRunEntry, endsRun } from '@brine/wire/load';

/** Stores an event for all hosts. */
export interface EventSink {
  append(event: Event): Promise<unknown>;
}

/** An event after its check, and the proof of that. */
export type Passed = Pick<Event, 'body' | 'proof'>;

/** Removes secrets from a local tool's event before anything keeps or shows it. */
export type EventDoor = (tag: string, body: Uint8Array) => Passed | Promise<Passed>;

/** Appends in flight at once, over all sockets; beyond that the writing tools wait. */
const MAX_IN_FLIGHT = 256;

/** Accepts events that local tools fire and appends them to the stream, in order, bounded. */
export class LocalEvents {
  readonly #sink: EventSink;
  readonly #masterId: string;
  readonly #door: EventDoor;
  readonly #onTrouble: (error: unknown) => void;
  /** Ids are new for each process, so that a message that the writer resends is stored once. */
  readonly #idPrefix = `local:${randomBytes(9).toString('base64url')}`;
  readonly #inFlight = new InFlight(MAX_IN_FLIGHT);
  #taken = 0;
  #stored = 0;
  #lost = 0;

  /** @param masterId `<host>_master`: the minion of runs of stock tools */
  constructor(
    sink: EventSink,
    masterId: string,
    door: EventDoor,
    onTrouble: (error: unknown) => void,
  ) {
    this.#sink = sink;
    this.#masterId = masterId;
    this.#door = door;
    this.#onTrouble = onTrouble;
  }

  stats(): { readonly stored: number; readonly lost: number; readonly inFlight: number } {
    return { stored: this.#stored, lost: this.#lost, inFlight: this.#inFlight.size };
  }

  /** Starts storing an event; resolves when more may come. Throws WireError for other bytes. */
  readonly take = async (event: Uint8Array): Promise<void> => {
    const { tag, data } = splitEvent(event);
    const looked = this.#door(tag, data);
    // Most are checked in this turn, and keep their order over all sockets.
    const passed = looked instanceof Promise ? await looked : looked;
    const id = `${this.#idPrefix}:${(this.#taken += 1)}`;
    // Appended in the order of the calls: one connection keeps the order of its messages.
    this.#inFlight.add(this.#store(tag, passed, id));
    await this.#inFlight.room();
  };

  /** Resolves when every event so far is stored or lost. */
  async drained(): Promise<void> {
    await this.#inFlight.settled();
  }

  async #store(tag: string, passed: Passed, msgId: string): Promise<void> {
    try {
      await this.#sink.append({ kind: 'local', tag, ...passed, msgId });
      if (endsRun(tag)) await this.#storeRun(tag, passed.body);
      this.#stored += 1;
    } catch (error) {
      this.#lost += 1;
      this.#onTrouble(error);
    }
  }

  /** A runner of a stock tool has an entry in the job cache too. */
  async #storeRun(tag: string, body: Uint8Array): Promise<void> {
    const entry = buildRunEntry(tag, runIn(body), this.#masterId);
    if (entry === undefined) return;
    const { jid, load } = entry;
    await this.#sink.append({
      kind: 'run',
      tag: jobReturnTag(jid as Jid, this.#masterId),
      body: pack(load),
      msgId: `run:${jid}`,
    });
  }
}

/** Data of another form are an event, but not a run. */
function runIn(body: Uint8Array): SaltMap {
  try {
    return unpackMap(body);
  } catch (error) {
    if (error instanceof WireError) return new Map();
    throw error;
  }
}
