import type { Pool } from 'pg';
import { asJobCacheError, JobCacheError, messageOf, stateOf } from './errors.ts';
import { saveSightings } from './sightings.ts';
import type { RefusedRow, StreamPosition } from './rows.ts';

const QUARANTINE = `
INSERT INTO brine.quarantine (kind, jid, id, incarnation, seq, sqlstate, reason, raw)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (kind, incarnation, seq) DO NOTHING`;

/** Longest text that is kept of a key or reason. */
const MAX_TEXT = 1000;

/** One row that was refused. */
export interface Refusal extends StreamPosition {
  readonly kind: RefusedRow['kind'];
  readonly jid: string;
  readonly id: string;
  readonly raw: Uint8Array;
  /** Of a return: when the stream stored it, unix milliseconds. */
  readonly receivedAt?: number;
}

/**
 * Puts a refused row away with its bytes. Texts lose what a text column can not hold; the bytes do
 * not. Of a return it is told why its minion seems silent. Throws JobCacheError for outages.
 */
export async function quarantine(pool: Pool, row: Refusal, error: unknown): Promise<RefusedRow> {
  const state = plainText(error instanceof JobCacheError ? error.sqlState : stateOf(error));
  try {
    await pool.query(QUARANTINE, [
      row.kind,
      plainText(row.jid),
      plainText(row.id),
      plainText(row.incarnation),
      Number.isSafeInteger(row.seq) ? row.seq : -1,
      state,
      plainText(messageOf(error)),
      Buffer.from(row.raw.buffer, row.raw.byteOffset, row.raw.byteLength),
    ]);
  } catch (failure) {
    throw asJobCacheError(failure);
  }
  if (row.kind === 'return') {
    const { jid, id, receivedAt: at = Date.now() } = row;
    const detail = { reason: 'quarantine', state };
    await saveSightings(pool, [{ jid, ids: [id], kind: 'refused', at, detail }]);
  }
  return { kind: row.kind, jid: row.jid, id: row.id, state };
}

function plainText(text: string): string {
  const plain = text.replaceAll('\0', '\uFFFD').slice(0, MAX_TEXT);
  // The way through UTF-8 replaces halves of surrogate pairs.
  return Buffer.from(plain, 'utf8').toString('utf8');
}
