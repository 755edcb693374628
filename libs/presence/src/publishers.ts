import type { PublisherWord } from './reports.ts';

/** A publisher, as its words tell of it. Times are ms of the owner's monotonic clock. */
export interface Publisher {
  readonly by: string;
  readonly host: string;
  /** The number of its last word. */
  n: number;
  /** When it spoke first and last; undefined where this owner did not hear it. */
  begunMs: number | undefined;
  spokeMs: number | undefined;
  heardMs: number;
  /** Since when it says nothing. */
  silentMs: number | undefined;
  /** All its connections are known: no word was lost since its list. */
  whole: boolean;
  /** It has told all its connections once. */
  hasBegun: boolean;
  /** The parts of a list that have come. */
  list: { next: number; readonly counts: Map<string, number> } | undefined;
}

/** Receives what follows from the words of publishers. */
export interface CountPorts {
  /** A place has so many connections of this publisher now; so many came, others may have gone. */
  counted(publisher: Publisher, place: string, count: number, came: number): void;
  /** These are all places of this publisher. */
  listed(publisher: Publisher, counts: ReadonlyMap<string, number>): void;
  /** The connections of this publisher are over. */
  ended(publisher: Publisher): void;
  /** A publisher has told all its connections, for the first time. */
  began(publisher: Publisher): void;
}

/** A publisher says something each 2 s. */
const SILENT_MS = 10_000;
/** A publisher that is silent for so long has ended, where another one is there. */
export const HOLD_MS = 300_000;
/** More publishers than this are not believed. */
const PUBLISHERS_MAX = 256;
/** Publishers that said that they end, and whose late words mean nothing. */
const ENDED_MAX = 64;

/** The publishers of the cluster, and whether what they say is all there is. */
export class Publishers {
  readonly #ports: CountPorts;
  readonly #all = new Map<string, Publisher>();
  readonly #ended: string[] = [];
  #refused = 0;

  constructor(ports: CountPorts) {
    this.#ports = ports;
  }

  get all(): Iterable<Publisher> {
    return this.#all.values();
  }

  /** Words of publishers beyond the limit. */
  get refused(): number {
    return this.#refused;
  }

  /** A publisher that the owner before knew: nothing is sure until it speaks, or is given up. */
  expect(by: string, host: string, now: number): void {
    if (!this.#all.has(by)) this.#add(by, host, now);
  }

  take(word: PublisherWord, now: number): void {
    const known = this.#all.get(word.by);
    if (word.kind === 'bye') {
      this.#ended.push(word.by);
      if (this.#ended.length > ENDED_MAX) this.#ended.shift();
      if (known !== undefined) this.#end(known);
      return;
    }
    if (this.#ended.includes(word.by)) return;
    if (known === undefined && this.#all.size >= PUBLISHERS_MAX) {
      this.#refused += 1;
      return;
    }
    const publisher = known ?? this.#add(word.by, word.host, now);
    if (publisher.n < 0) this.#succeed(publisher);
    publisher.begunMs ??= now;
    publisher.spokeMs = now;
    publisher.heardMs = now;
    publisher.silentMs = undefined;
    if (word.n !== publisher.n + 1) {
      publisher.whole = false;
      publisher.list = undefined;
    }
    publisher.n = word.n;
    if (word.kind === 'whole') this.#takePart(publisher, word);
    else if (publisher.whole) {
      for (const [place, count, came = 0] of word.places) {
        this.#ports.counted(publisher, place, count, came);
      }
    } else if (publisher.list !== undefined) {
      for (const [place, count] of word.places) publisher.list.counts.set(place, count);
    }
  }

  /** Notices silence. Not to be called while this process does not hear. */
  look(now: number): void {
    for (const publisher of [...this.#all.values()]) {
      if (publisher.silentMs === undefined) {
        if (now - publisher.heardMs > SILENT_MS) publisher.silentMs = publisher.heardMs;
      }
      if (publisher.silentMs === undefined) continue;
      const isGivenUp = now - publisher.silentMs >= HOLD_MS && this.#isServed();
      if (isGivenUp || this.#isSucceeded(publisher)) this.#end(publisher);
    }
  }

  /** Words may have been lost, or lie unread: each has to tell all it has. */
  doubt(now: number): void {
    for (const publisher of this.#all.values()) {
      publisher.whole = false;
      publisher.list = undefined;
      if (publisher.silentMs === undefined) publisher.heardMs = now;
    }
  }

  /** Whether a publisher that speaks has to be asked for its list. */
  get wantsList(): boolean {
    for (const { whole, silentMs } of this.#all.values()) {
      if (!whole && silentMs === undefined) return true;
    }
    return false;
  }

  /**
   * Whether a missing connection means something: some publisher serves, and none is silent or has
   * told only a part. A silent one may have the connection.
   */
  get isSure(): boolean {
    for (const { whole, silentMs } of this.#all.values()) {
      if (!whole || silentMs !== undefined) return false;
    }
    return this.#all.size > 0;
  }

  /** Up to when it is known what happened: a publisher may keep what was later. */
  get knownMs(): number {
    let knownMs = Infinity;
    for (const { heardMs } of this.#all.values()) knownMs = Math.min(knownMs, heardMs);
    return knownMs;
  }

  /** Whether a publisher of this host serves. */
  serves(host: string): boolean {
    return [...this.#all.values()].some((one) => one.host === host && isServing(one));
  }

  #isServed(): boolean {
    return [...this.#all.values()].some(isServing);
  }

  #add(by: string, host: string, now: number): Publisher {
    const added: Publisher = {
      ...{ by, host, n: -1, begunMs: undefined, spokeMs: undefined, heardMs: now },
      ...{ silentMs: undefined, whole: false, hasBegun: false, list: undefined },
    };
    this.#all.set(by, added);
    return added;
  }

  /** A publisher that begins takes the place of those of its host that are silent. */
  #succeed(publisher: Publisher): void {
    for (const other of [...this.#all.values()]) {
      const isGone = other.silentMs !== undefined || other.n < 0;
      if (other !== publisher && other.host === publisher.host && isGone) this.#end(other);
    }
  }

  /** Another one of its host began after its last word: a host has one publisher. */
  #isSucceeded({ host, spokeMs }: Publisher): boolean {
    if (spokeMs === undefined) return false;
    for (const other of this.#all.values()) {
      const { begunMs } = other;
      if (other.host === host && begunMs !== undefined && begunMs > spokeMs) return true;
    }
    return false;
  }

  #takePart(publisher: Publisher, word: PublisherWord & { readonly kind: 'whole' }): void {
    if (word.part === 0) publisher.list = { next: 0, counts: new Map() };
    const { list } = publisher;
    if (list === undefined) return;
    if (list.next !== word.part) {
      publisher.list = undefined;
      return;
    }
    for (const [place, count] of word.places) list.counts.set(place, count);
    list.next += 1;
    if (list.next < word.of) return;
    publisher.list = undefined;
    publisher.whole = true;
    this.#ports.listed(publisher, list.counts);
    if (!publisher.hasBegun) this.#ports.began(publisher);
    publisher.hasBegun = true;
  }

  #end(publisher: Publisher): void {
    this.#all.delete(publisher.by);
    this.#ports.ended(publisher);
  }
}

function isServing({ whole, silentMs }: Publisher): boolean {
  return whole && silentMs === undefined;
}
