import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { connectToOwn } from '@brine/testing';
import { mapOf, pack } from '@brine/wire';
import type { MasterUnderTest } from '../masters/master.ts';

const TICK_MS = 10;
/** A NATS that is behind gets no more than this at once. */
const IN_FLIGHT_MAX = 2_000;

/** Writes events into the streams of a master at a rate, without a minion or a worker. */
export class EventStream {
  readonly #bus: Bus;
  readonly #writer: EventWriter;

  private constructor(bus: Bus) {
    this.#bus = bus;
    this.#writer = new EventWriter(bus, { timeoutMs: 30_000 });
  }

  static async open(master: MasterUnderTest): Promise<EventStream> {
    return new EventStream(await connectToOwn(join(master.home.cacheDir, 'brine')));
  }

  /**
   * Writes for a time, or until the signal; each event has the time at which it was `sent`. Gives
   * their number.
   */
  async write(perSecond: number, seconds: number, signal?: AbortSignal): Promise<number> {
    const begun = performance.now();
    const inFlight = new Set<Promise<unknown>>();
    const all = Math.round(perSecond * seconds);
    let written = 0;
    while (written < all && signal?.aborted !== true) {
      const due = Math.min(all, Math.ceil(((performance.now() - begun) / 1_000) * perSecond));
      while (written < due && inFlight.size < IN_FLIGHT_MAX) {
        written += 1;
        const body = pack(mapOf({ sent: Date.now(), number: written }));
        const one = this.#writer
          .append({ kind: 'local', tag: `bench/follow/${written}`, body })
          .finally(() => inFlight.delete(one));
        inFlight.add(one);
      }
      await sleep(TICK_MS);
    }
    await Promise.all(inFlight);
    return written;
  }

  close(): Promise<void> {
    return this.#bus.close();
  }
}
