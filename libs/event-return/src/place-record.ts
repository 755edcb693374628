import type { SavedPlace } from './returner.ts';

/** What the bucket has of a returner: who writes there, and how far. */
export interface PlaceRecord extends SavedPlace {
  /** The process that writes there; empty where none does. */
  readonly owner: string;
}

/** Packs a record: JSON. */
export function packRecord(record: PlaceRecord): Buffer {
  return Buffer.from(JSON.stringify(record));
}

/** Reads a record; anything else is one without owner and place. */
export function readRecord(value: Uint8Array): PlaceRecord {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(value).toString('utf8'));
  } catch {
    parsed = undefined;
  }
  if (typeof parsed !== 'object' || parsed === null) return { owner: '' };
  const { owner, position, note } = parsed as Record<string, unknown>;
  return {
    owner: typeof owner === 'string' ? owner : '',
    ...(typeof position === 'string' ? { position } : {}),
    ...(note === undefined ? {} : { note }),
  };
}

/**
 * A returner whose process is gone for so long holds up no stream any more, in ms. While one runs
 * it renews its record.
 */
const FORGOTTEN_AFTER_MS = 24 * 3_600_000;

/** A record in the bucket, and when it was written, unix ms. */
interface StoredRecord {
  readonly value: Uint8Array;
  readonly timeMs: number;
}

/** The positions from which on events are still needed, at a time (unix ms). */
export function neededFrom(records: Iterable<StoredRecord>, nowMs: number): string[] {
  const needed: string[] = [];
  for (const { value, timeMs } of records) {
    if (nowMs - timeMs > FORGOTTEN_AFTER_MS) continue;
    const { position } = readRecord(value);
    if (position !== undefined) needed.push(position);
  }
  return needed;
}
