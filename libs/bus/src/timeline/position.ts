import { createHash } from 'node:crypto';
import { BusError } from '../connection/errors.ts';

/** How far a stream was read: all up to `seq`; with `index`, of `seq` itself only up to that. */
export interface Place {
  readonly seq: number;
  /** The last event that was read of message `seq`, if the message has more. From 0. */
  readonly index?: number;
}

/**
 * A place in the bus of the cluster. The bus is two streams that are read independently, so a
 * position has a place in each. It stays valid for ever: a stream never gives a sequence twice, and
 * the mark names the two streams by their creation times.
 */
export interface Position {
  readonly events: Place;
  readonly publications: Place;
  /** Identifies the streams; see {@link markOf}. */
  readonly mark: string;
}

const FORM = /^(\d{1,15})(?:\.(\d{1,5}))?-(\d{1,15})(?:\.(\d{1,5}))?_([0-9a-f]{8})$/;

/** A position as text: `4711.3-92_0a1b2c3d`. It is fit for shells, URLs and headers. */
export function printPosition({ events, publications, mark }: Position): string {
  return `${printPlace(events)}-${printPlace(publications)}_${mark}`;
}

/** True if a text has the form of a position. */
export function isPosition(text: string): boolean {
  return FORM.test(text);
}

/**
 * Reads a position that {@link printPosition} wrote.
 * @throws BusError `BUS_BAD_MESSAGE` for any other text
 */
export function parsePosition(text: string): Position {
  const match = FORM.exec(text);
  if (match === null) {
    const shown = JSON.stringify(text.slice(0, 80));
    throw new BusError('BUS_BAD_MESSAGE', `no position in the events: ${shown}`);
  }
  const [, seq, index, jobSeq, jobIndex, mark = ''] = match;
  return { events: place(seq, index), publications: place(jobSeq, jobIndex), mark };
}

/**
 * Compares positions. Two readers may take the streams in different order, so that a position of
 * one is neither before nor after that of the other as a whole: each stream is compared by itself.
 */
export class Reached {
  readonly #position: Position;

  /** @throws BusError `BUS_BAD_MESSAGE` for a text that is no position */
  constructor(position: string) {
    this.#position = parsePosition(position);
  }

  /** True if a reader that is here has read this event. */
  has({ position, side }: { readonly position: string; readonly side: keyof Sides }): boolean {
    const other = parsePosition(position);
    return other.mark === this.#position.mark && isWithin(other[side], this.#position[side]);
  }

  /** True if a reader that is here has read all that one at the other position has read. */
  hasAll(position: string): boolean {
    const other = parsePosition(position);
    return (
      other.mark === this.#position.mark &&
      isWithin(other.events, this.#position.events) &&
      isWithin(other.publications, this.#position.publications)
    );
  }

  /** True if the other position is of the same streams. */
  isOfSame(position: string): boolean {
    return parsePosition(position).mark === this.#position.mark;
  }
}

/** The position that has read only what each of these has. They are of the same streams. */
export function lowestOf(first: string, ...others: readonly string[]): string {
  let lowest = parsePosition(first);
  for (const other of others) {
    const { events, publications } = parsePosition(other);
    lowest = {
      ...lowest,
      events: isWithin(events, lowest.events) ? events : lowest.events,
      publications: isWithin(publications, lowest.publications)
        ? publications
        : lowest.publications,
    };
  }
  return printPosition(lowest);
}

/** How many messages one position is behind another one, at most in one of the streams. */
export function messagesBehind(position: string, other: string): number {
  const [behind, ahead] = [parsePosition(position), parsePosition(other)];
  return Math.max(
    0,
    ahead.events.seq - behind.events.seq,
    ahead.publications.seq - behind.publications.seq,
  );
}

type Sides = Pick<Position, 'events' | 'publications'>;

/** True if all up to `place` was read by one that has read up to `reached`. */
function isWithin(place: Place, reached: Place): boolean {
  if (place.seq !== reached.seq) return place.seq < reached.seq;
  return (place.index ?? Infinity) <= (reached.index ?? Infinity);
}

/** The place at which reading begins so that the event that ends at `place` comes. */
export function before({ seq, index }: Place): Place {
  return index === undefined || index === 0 ? { seq: seq - 1 } : { seq, index: index - 1 };
}

/** Distinguishes these two streams from others of the same names, by when they were made. */
export function markOf(incarnations: {
  readonly events: string;
  readonly publications: string;
}): string {
  const both = `${incarnations.events}\n${incarnations.publications}`;
  return createHash('sha256').update(both).digest('hex').slice(0, 8);
}

function printPlace({ seq, index }: Place): string {
  return index === undefined ? String(seq) : `${seq}.${index}`;
}

function place(seq: string | undefined, index: string | undefined): Place {
  return { seq: Number(seq), ...(index === undefined ? {} : { index: Number(index) }) };
}
