import type { EventPublisher } from '@brine/ipc';
import type { StreamEvent } from '@brine/job';
import { parseTag } from '@brine/job';
import type { SaltMap } from '@brine/wire';
import { mapOf, pack, scanMap, trimEvent, VALUE_TRIMMED, WireError } from '@brine/wire';
import type { IpcFraming } from '@brine/wire/frames';
import { eventStamp, ipcFrame, packEvent, restampEvent, toBinMap } from '@brine/wire/frames';

/** A socket and the preferences of its readers. */
export interface ReaderSocket {
  readonly publisher: EventPublisher;
  /** True if `_stamp` ends in `+00:00`. */
  readonly zone: boolean;
  /** True if its readers overlook a return until one more event comes. */
  readonly wakes: boolean;
}

/**
 * An event for the local readers, with its body. `timeMs` becomes its `_stamp`, except that local
 * tools stamp their events (kind `local`) themselves.
 */
export type EventForReaders = Pick<StreamEvent, 'kind' | 'tag' | 'timeMs'> & {
  readonly body: Uint8Array;
};

/**
 * Wakes a CLI of 3007 that overlooked its returns. It has to be a whole event: that CLI would wait
 * for the rest of a part and forget its timeouts. No tool asks for this tag, but a tool of 3007
 * that shows all events shows it. So no socket for other versions gets it.
 */
const TICK_TAG = 'brine/tick';
const TICK_BODY = pack(mapOf({}), 'bin');
/** The body while no reader is connected. */
const NO_BODY = new Uint8Array(0);

/** Writes events to all sockets of this host, each in its own framing. */
export class Readers {
  readonly #sockets: readonly ReaderSocket[];
  readonly #maxEventSize: number;
  #fired = 0;
  #unreadable = 0;

  constructor(sockets: readonly ReaderSocket[], maxEventSize: number) {
    this.#sockets = sockets;
    this.#maxEventSize = maxEventSize;
  }

  /** How many readers are connected to any socket. */
  get count(): number {
    return this.#sockets.reduce((sum, { publisher }) => sum + publisher.readers, 0);
  }

  /** Resolves when every tool that connected before this call is a reader. */
  async arrivals(): Promise<void> {
    await Promise.all(this.#sockets.map(({ publisher }) => publisher.arrivals()));
  }

  stats(): {
    readonly fired: number;
    readonly unreadable: number;
    readonly droppedReaders: number;
  } {
    const dropped = this.#sockets.map(({ publisher }) => publisher.stats().droppedReaders);
    return {
      fired: this.#fired,
      unreadable: this.#unreadable,
      droppedReaders: dropped.reduce((sum, one) => sum + one, 0),
    };
  }

  /** Sends an event to the current readers. A body that is no map is counted, not sent. */
  fire(event: EventForReaders): void {
    this.#fired += 1;
    if (this.count === 0) return;
    const frames = new Map<string, Uint8Array>();
    const isReturn = parseTag(event.tag).kind === 'job-return';
    try {
      for (const { publisher, zone, wakes } of this.#sockets) {
        if (publisher.readers === 0) continue;
        const key = `${publisher.framing} ${zone}`;
        let frame = frames.get(key);
        if (frame === undefined) {
          frame = this.#frame(event, publisher.framing, zone);
          frames.set(key, frame);
        }
        publisher.publishFrame(frame);
        if (wakes && isReturn) {
          publisher.wakeNewReaders(ipcFrame(packEvent(TICK_TAG, TICK_BODY), publisher.framing));
        }
      }
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#unreadable += 1;
    }
  }

  /** As {@link fire} for an event of this process. */
  fireMap(tag: string, map: SaltMap, timeMs: number): void {
    const body = this.count === 0 ? NO_BODY : pack(map, 'bin');
    this.fire({ kind: 'job', tag, body, timeMs });
  }

  #frame(event: EventForReaders, framing: IpcFraming, zone: boolean): Uint8Array {
    const { kind, tag, body, timeMs } = event;
    const isStamped = kind === 'local' && scanMap(body).range('_stamp') !== undefined;
    const data = isStamped ? toBinMap(body) : restampEvent(body, eventStamp(timeMs, zone));
    return ipcFrame(packEvent(tag, trimEvent(data, this.#maxEventSize)), framing);
  }
}

/** The body of an event that is too large to be fetched at all. */
export function trimmedStandIn(fields: Readonly<Record<string, string | undefined>>): SaltMap {
  return mapOf({ ...fields, return: VALUE_TRIMMED });
}
