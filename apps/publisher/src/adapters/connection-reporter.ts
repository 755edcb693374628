import type { Bus } from '@brine/bus';
import { onPresence, publishPresence } from '@brine/bus/rpc';
import {
  claimIn,
  ConnectionBoard,
  packReport,
  placeOf,
  plainAddress,
  type PublisherReport,
} from '@brine/presence';
import type { Trouble } from '@brine/tasks';
import type { PublishPeer } from '@brine/zmq';

/** The parts of the reporter. */
export interface ConnectionReporterParts {
  readonly bus: Bus;
  readonly host: string;
  /** Identifies this process among all publishers. */
  readonly by: string;
  readonly onTrouble: Trouble;
}

/** Changes within this time are one message, ms. */
const CHANGES_MS = 250;
/** A message is sent at least this often, so that its absence shows a dead publisher, ms. */
const BEAT_MS = 2_000;

/** Reports the connections of 4505 by address to the owner of presence, all of them on request. */
export class ConnectionReporter {
  readonly #parts: ConnectionReporterParts;
  readonly #board: ConnectionBoard;
  readonly #places = new Map<PublishPeer, string>();
  #stopFollowing: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #reportedAt = -Infinity;
  #closed = false;

  constructor(parts: ConnectionReporterParts) {
    this.#parts = parts;
    this.#board = new ConnectionBoard(parts.by, parts.host);
  }

  /** Starts the reports; the port is open. */
  start(): void {
    this.#stopFollowing = onPresence(
      this.#parts.bus,
      'hello',
      () => this.#reportAll(),
      (error) => this.#parts.onTrouble('connections are not reported to presence', error),
    );
    this.#timer = setInterval(() => this.#look(), CHANGES_MS);
    this.#timer.unref();
    this.#reportAll();
  }

  /**
   * Hooks for a server.
   * @param onConnect gets the time of each new connection, unix ms
   */
  hooks(onConnect: (nowMs: number) => unknown) {
    return {
      onConnect: (peer: PublishPeer): void => {
        this.#put(peer, placeIn(peer));
        onConnect(Date.now());
      },
      onTopics: (peer: PublishPeer): void => {
        // Only now the peer may name its minion.
        const place = placeIn(peer);
        if (this.#places.has(peer) && this.#places.get(peer) !== place) this.#put(peer, place);
      },
      onDisconnect: (peer: PublishPeer): void => {
        const place = this.#places.get(peer);
        if (place === undefined) return;
        this.#places.delete(peer);
        this.#board.closed(place);
      },
    };
  }

  /** Announces the end: connections that end after it are no sign of their minions. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#timer);
    this.#stopFollowing?.();
    this.#publish(this.#board.bye());
  }

  #put(peer: PublishPeer, place: string): void {
    const before = this.#places.get(peer);
    if (before !== undefined) this.#board.closed(before);
    this.#places.set(peer, place);
    this.#board.opened(place);
  }

  #look(): void {
    // Lost messages need no retry: the owner notices the gap in their numbers.
    if (performance.now() - this.#reportedAt >= BEAT_MS) this.#publish(this.#board.changes());
    while (this.#board.hasChanged) this.#publish(this.#board.changes());
  }

  #reportAll(): void {
    if (this.#closed) return;
    for (const report of this.#board.whole()) this.#publish(report);
  }

  #publish(report: PublisherReport): void {
    this.#reportedAt = performance.now();
    publishPresence(this.#parts.bus, 'told', packReport(report));
  }
}

function placeIn({ address, topics }: PublishPeer): string {
  return placeOf(plainAddress(address), claimIn(topics));
}
