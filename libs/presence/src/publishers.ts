import type { PublisherReport } from './reports.ts';

/** A publisher, as its reports show it. Times are ms of the owner's monotonic clock. */
export interface Publisher {
  readonly by: string;
  readonly host: string;
  /** The number of its last report; -1 before. */
  n: number;
  /** When its first and its last report came; undefined before. */
  begunMs: number | undefined;
  reportedMs: number | undefined;
  /** Up to when it is known what happened to its connections. */
  knownMs: number;
  /** Since when it sends nothing. */
  silentMs: number | undefined;
  /** All its connections are known: no report was lost since its list. */
  whole: boolean;
  /** It has listed all its connections once. */
  hasBegun: boolean;
  /** The parts of a list that have come. */
  list: { next: number; readonly counts: Map<string, number> } | undefined;
}

/** Receives what follows from the reports of publishers. */
export interface CountPorts {
  /** A place has so many connections of this publisher now; so many came, others may have gone. */
  counted(publisher: Publisher, place: string, count: number, came: number): void;
  /** These are all places of this publisher. */
  listed(publisher: Publisher, counts: ReadonlyMap<string, number>): void;
  /** The connections of this publisher are over. Another one of its host may serve. */
  ended(publisher: Publisher, isServed: boolean): void;
  /** A publisher has listed all its connections, for the first time. */
  began(publisher: Publisher): void;
}

/** A publisher reports each 2 s. */
const SILENT_MS = 10_000;
/** A publisher that is silent for so long has ended, where another one is there. */
export const GIVE_UP_MS = 300_000;
/** More publishers than this are not believed. */
const PUBLISHERS_MAX = 256;
/** Publishers that sent `bye`, and whose late reports are ignored. */
const ENDED_MAX = 64;

/** The publishers of the cluster, and whether all their connections are known. */
export class Publishers {
  readonly #ports: CountPorts;
  readonly #all = new Map<string, Publisher>();
  readonly #ended: string[] = [];

  constructor(ports: CountPorts) {
    this.#ports = ports;
  }

  get all(): Iterable<Publisher> {
    return this.#all.values();
  }

  /** A publisher that the owner before knew: nothing is sure until it reports, or is given up. */
  expect(by: string, host: string, now: number): void {
    if (!this.#all.has(by)) this.#add(by, host, now);
  }

  take(report: PublisherReport, now: number): void {
    const known = this.#all.get(report.by);
    if (report.kind === 'bye') {
      this.#ended.push(report.by);
      if (this.#ended.length > ENDED_MAX) this.#ended.shift();
      if (known !== undefined) this.#end(known);
      return;
    }
    if (this.#ended.includes(report.by)) return;
    if (known === undefined && this.#all.size >= PUBLISHERS_MAX) return;
    const publisher = known ?? this.#add(report.by, report.host, now);
    if (publisher.n < 0) this.#succeed(publisher);
    publisher.begunMs ??= now;
    publisher.reportedMs = now;
    publisher.knownMs = now;
    publisher.silentMs = undefined;
    if (report.n !== publisher.n + 1) {
      publisher.whole = false;
      publisher.list = undefined;
    }
    publisher.n = report.n;
    if (report.kind === 'whole') this.#takePart(publisher, report);
    else if (publisher.whole) {
      for (const [place, count, came = 0] of report.places) {
        this.#ports.counted(publisher, place, count, came);
      }
    } else if (publisher.list !== undefined) {
      for (const [place, count] of report.places) publisher.list.counts.set(place, count);
    }
  }

  /** Notices silent publishers. Not to be called while this process receives nothing. */
  checkSilence(now: number): void {
    for (const publisher of [...this.#all.values()]) {
      if (publisher.silentMs === undefined) {
        if (now - publisher.knownMs > SILENT_MS) publisher.silentMs = publisher.knownMs;
      }
      if (publisher.silentMs === undefined) continue;
      const isGivenUp = now - publisher.silentMs >= GIVE_UP_MS && this.#isServed();
      if (isGivenUp || this.#isSucceeded(publisher)) this.#end(publisher);
    }
  }

  /** Reports may have been lost, or lie unread: each publisher has to list all it has. */
  doubt(now: number): void {
    for (const publisher of this.#all.values()) {
      publisher.whole = false;
      publisher.list = undefined;
      if (publisher.silentMs === undefined) publisher.knownMs = now;
    }
  }

  /** Whether a publisher that reports has to be asked for its list. */
  get wantsList(): boolean {
    for (const { whole, silentMs } of this.#all.values()) {
      if (!whole && silentMs === undefined) return true;
    }
    return false;
  }

  /**
   * Whether a missing connection means something: some publisher serves, none is silent, and all
   * connections of each are known. A silent publisher may have the connection.
   */
  get isSure(): boolean {
    for (const { whole, silentMs } of this.#all.values()) {
      if (!whole || silentMs !== undefined) return false;
    }
    return this.#all.size > 0;
  }

  /** Up to when it is known what happened. A publisher may not have reported what was later. */
  get knownMs(): number {
    let knownMs = Infinity;
    for (const one of this.#all.values()) knownMs = Math.min(knownMs, one.knownMs);
    return knownMs;
  }

  /** Whether any publisher serves, or one of this host. */
  #isServed(host?: string): boolean {
    const all = [...this.#all.values()];
    return all.some((one) => (host === undefined || one.host === host) && isServing(one));
  }

  #add(by: string, host: string, now: number): Publisher {
    const added: Publisher = {
      by,
      host,
      n: -1,
      begunMs: undefined,
      reportedMs: undefined,
      knownMs: now,
      silentMs: undefined,
      whole: false,
      hasBegun: false,
      list: undefined,
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

  /** Another one of its host began after its last report: a host has one publisher. */
  #isSucceeded({ host, reportedMs }: Publisher): boolean {
    if (reportedMs === undefined) return false;
    for (const other of this.#all.values()) {
      const { begunMs } = other;
      if (other.host === host && begunMs !== undefined && begunMs > reportedMs) return true;
    }
    return false;
  }

  #takePart(publisher: Publisher, report: PublisherReport & { readonly kind: 'whole' }): void {
    if (report.part === 0) publisher.list = { next: 0, counts: new Map() };
    const { list } = publisher;
    if (list === undefined) return;
    if (list.next !== report.part) {
      publisher.list = undefined;
      return;
    }
    for (const [place, count] of report.places) list.counts.set(place, count);
    list.next += 1;
    if (list.next < report.of) return;
    publisher.list = undefined;
    publisher.whole = true;
    this.#ports.listed(publisher, list.counts);
    if (!publisher.hasBegun) this.#ports.began(publisher);
    publisher.hasBegun = true;
  }

  #end(publisher: Publisher): void {
    this.#all.delete(publisher.by);
    this.#ports.ended(publisher, this.#isServed(publisher.host));
  }
}

function isServing({ whole, silentMs }: Publisher): boolean {
  return whole && silentMs === undefined;
}
