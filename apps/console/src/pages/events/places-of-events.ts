/** A place in one of the two streams of events. */
interface Place {
  readonly seq: number;
  /** The last event of message `seq` that was read; undefined: all of them. */
  readonly index: number;
}

/** A place in both streams (libs/bus position.ts). */
interface Position {
  readonly events: Place;
  readonly publications: Place;
  readonly mark: string;
}

const FORM = /^(\d{1,15})(?:\.(\d{1,5}))?-(\d{1,15})(?:\.(\d{1,5}))?_([0-9a-f]{8})$/;

/** Reads a position; undefined for another text. */
function readPosition(text: string): Position | undefined {
  const [, seq, index, jobSeq, jobIndex, mark] = FORM.exec(text) ?? [];
  if (mark === undefined) return undefined;
  return { events: place(seq, index), publications: place(jobSeq, jobIndex), mark };
}

function place(seq: string | undefined, index: string | undefined): Place {
  return { seq: Number(seq), index: index === undefined ? Infinity : Number(index) };
}

/** Of which stream an event is. */
export function streamOf({ kind }: { readonly kind: string }): 'events' | 'publications' {
  return kind === 'job' ? 'publications' : 'events';
}

/**
 * A name of an event that each reader gives it. Its position is not one: two readers may take the
 * streams in different order, and so be at other places of the other stream.
 */
export function eventKey(event: { readonly position: string; readonly kind: string }): string {
  const read = readPosition(event.position);
  if (read === undefined) return event.position;
  const { seq, index } = read[streamOf(event)];
  return `${streamOf(event)} ${seq} ${index} ${read.mark}`;
}

/** True if a reader at one position has read all that one at the other position has read. */
export function hasReached(position: string, other: string): boolean {
  const [here, there] = [readPosition(position), readPosition(other)];
  if (here === undefined || there === undefined || here.mark !== there.mark) return false;
  return isWithin(there.events, here.events) && isWithin(there.publications, here.publications);
}

function isWithin(one: Place, other: Place): boolean {
  return one.seq === other.seq ? one.index <= other.index : one.seq < other.seq;
}
