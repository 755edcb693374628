import { join } from 'node:path';
import { type Bus, handleEach } from '@brine/bus';
import { EventReader } from '@brine/bus/events';
import { type BrineMaster, connectToOwn } from '@brine/testing';
import { listOf, type SaltMap, unpackMap } from '@brine/wire';

/** A change as `salt/presence/change` told it. */
export interface ToldChange {
  readonly added: readonly string[];
  readonly lost: readonly string[];
  /** When it came here, monotonic ms. */
  readonly atMs: number;
}

/** The presence events of a master, from now on. */
export class PresenceLog implements AsyncDisposable {
  readonly changes: ToldChange[] = [];
  /** What `salt/presence/present` told last. */
  listed: readonly string[] = [];
  readonly #bus: Bus;
  readonly #reader: EventReader;
  readonly #reading: Promise<void>;

  private constructor(bus: Bus) {
    this.#bus = bus;
    this.#reader = new EventReader(bus, { kinds: ['local'] });
    this.#reading = handleEach(this.#reader, async (event) => {
      if (!event.tag.startsWith('salt/presence/')) return;
      this.#take(event.tag, unpackMap(await event.fetch()));
    });
  }

  static async open(master: BrineMaster): Promise<PresenceLog> {
    return new PresenceLog(await connectToOwn(join(master.home.cacheDir, 'brine')));
  }

  /** When this minion was told lost after a time, monotonic ms; undefined where it was not. */
  lostAt(id: string, sinceMs: number): number | undefined {
    return this.changes.find(({ lost, atMs }) => atMs >= sinceMs && lost.includes(id))?.atMs;
  }

  /** The same for `new`. */
  newAt(id: string, sinceMs: number): number | undefined {
    return this.changes.find(({ added, atMs }) => atMs >= sinceMs && added.includes(id))?.atMs;
  }

  /** All that were told lost since a time. */
  lostSince(sinceMs: number): readonly string[] {
    return this.changes.filter(({ atMs }) => atMs >= sinceMs).flatMap(({ lost }) => lost);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reader.close();
    await this.#reading;
    await this.#bus.close();
  }

  #take(tag: string, data: SaltMap): void {
    const ids = (name: string): string[] =>
      (listOf(data, name) ?? []).filter((id) => typeof id === 'string');
    if (tag === 'salt/presence/present') this.listed = ids('present');
    else this.changes.push({ added: ids('new'), lost: ids('lost'), atMs: performance.now() });
  }
}
