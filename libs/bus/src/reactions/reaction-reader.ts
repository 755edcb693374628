import type { Bus } from '../connection/connect.ts';
import { BusError } from '../connection/errors.ts';
import { MessageReader } from '../streams/message-reader.ts';
import { nakAfter } from '../streams/pull-feed.ts';
import type { Received } from '../streams/stream-reader.ts';
import { unescapeHeader } from '../subjects/escape.ts';
import { isReactionKind, type ReactionKind, subjects } from '../subjects/names.ts';
import { type Reaction, REACTION_HEADERS, type ReactionPlace } from './reaction.ts';

/** A reaction out of the queue. This process owns it until it calls one of these functions. */
export interface QueuedReaction extends Reaction {
  /** 1 the first time; more after the death of a process that had it. */
  readonly deliveries: number;
  /** All of its calls have ended, so remove it from the queue. */
  readonly done: () => void;
  /** Gives it back: another process, or this one, gets it after `delayMs`. */
  readonly again: (delayMs: number) => void;
  /** Another process has it already: this one has nothing more to do with it. */
  readonly letGo: () => void;
}

/**
 * Takes work out of one of its places. All processes of the cluster share it, and one process owns
 * each reaction. The owner sends "in progress" while it lives. When it dies, the reaction goes to
 * another process after `ackWaitMs` (30 s).
 */
export class ReactionReader extends MessageReader<ReactionKind> {
  /** @param readAhead reactions that wait in this process while it works on others */
  constructor(
    bus: Bus,
    options: {
      readonly place: ReactionPlace;
      readonly readAhead: number;
      readonly ackWaitMs?: number;
    },
  ) {
    const { place, ...more } = options;
    super(bus, place.stream, () => place.subject, {
      ...more,
      kinds: [place.kind],
      durable: place.durable,
      extendsAckWait: true,
    });
  }

  /** The next one; undefined once it is closed. */
  async next(): Promise<QueuedReaction | undefined> {
    for (;;) {
      const [received] = await this.take(1);
      if (received === undefined) return undefined;
      const reaction = readReaction(received);
      if (reaction !== undefined) return { ...reaction, ...settlingOf(received) };
      this.pass(received, new BusError('BUS_BAD_MESSAGE', 'no reaction of ours'));
    }
  }
}

function settlingOf(received: Received): Omit<QueuedReaction, keyof Reaction> {
  return {
    deliveries: received.deliveries,
    done: () => received.settle('+ACK'),
    again: (delayMs) => received.settle(delayMs > 0 ? nakAfter(delayMs) : '-NAK'),
    // This process sends no more of these; the server goes by those of the other one.
    letGo: () => received.settle('+WPI'),
  };
}

/** For this library only: a message of the queue, undefined for a foreign one. */
export function readReaction(
  received: Pick<Received, 'subject' | 'header' | 'data'>,
): Reaction | undefined {
  const { subject } = received;
  const kind = subject === subjects.due ? 'due' : (subject.split('.')[2] ?? '');
  const text = (name: string): string | undefined => {
    const value = received.header(name);
    return value === '' ? undefined : unescapeHeader(value);
  };
  const id = text(REACTION_HEADERS.id);
  const timeMs = Number(received.header(REACTION_HEADERS.time));
  if (!isReactionKind(kind) || id === undefined || !Number.isFinite(timeMs)) return undefined;
  const link = text(REACTION_HEADERS.link);
  return {
    kind,
    id,
    timeMs,
    body: received.data,
    name: text(REACTION_HEADERS.name) ?? '',
    ...(link === undefined ? {} : { link }),
  };
}
