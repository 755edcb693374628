import { nakAfter } from './pull-feed.ts';
import type { Received } from './stream-reader.ts';

/** A message of a stream that this release can not read, as it is in the stream. */
export interface StrayMessage {
  readonly stream: string;
  readonly subject: string;
  /** The headers as they came, with their line ends. */
  readonly headers: string;
  readonly data: Uint8Array;
  readonly seq: number;
  readonly incarnation: string;
  /** When the stream stored it, in microseconds since 1970. */
  readonly timeUs: number;
}

/** A stray that is not acknowledged yet. */
export interface Stray extends StrayMessage {
  /** Why it can not be read. */
  readonly why: unknown;
  readonly ack: () => void;
  /** Asks for another delivery after some ms. */
  readonly nak: (delayMs: number) => void;
}

/** Keeps a message that a reader can not read, and acknowledges it. */
export type KeepStray = (stray: Stray) => void;

/** A message that a reader received and could not read. For this library only. */
export function strayOf(stream: string, received: Received, why: unknown): Stray {
  const { subject, data, seq, incarnation, timeUs, settle } = received;
  return {
    stream,
    subject,
    data,
    seq,
    incarnation,
    timeUs,
    why,
    headers: received.headers(),
    ack: () => settle('+ACK'),
    nak: (delayMs) => settle(nakAfter(delayMs)),
  };
}
