import { errorText } from '@brine/tasks';
import type { Pool } from 'pg';
import { JobCacheError, stateOf } from '../connection/errors.ts';
import type { RefusedRow, StreamPosition } from './rows.ts';
import { saveSightings } from './sightings.ts';

/** A repeated refusal of a row keeps its number and replaces the reason. */
// eslint-disable-next-line brine/plain-words -- the name of the column
const QUARANTINE = `
INSERT INTO brine.quarantine AS q (kind, jid, id, incarnation, seq, sqlstate, reason, raw, subject,
  stored_at, told)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, to_timestamp($10::float8 / 1000), $11)
ON CONFLICT (kind, incarnation, seq) DO UPDATE
  SET sqlstate = excluded.sqlstate, reason = excluded.reason`;

/** Longest text of a name or reason. */
const MAX_TEXT = 1000;
/** An index contains it: PostgreSQL takes 2,704 bytes there, and a character has up to 4. */
const MAX_INCARNATION = 200;
/** The year 9999, in ms: PostgreSQL knows later times, people do not. */
const MAX_TIME_MS = 253_402_300_799_000;

/** A row that was refused. */
export interface Refusal extends StreamPosition {
  readonly kind: RefusedRow['kind'];
  readonly jid: string;
  readonly id: string;
  readonly raw: Uint8Array;
  /** When the stream stored it, unix milliseconds. */
  readonly receivedAt?: number;
  /** Further facts that a retry needs. */
  readonly about?: Readonly<Record<string, unknown>>;
}

/**
 * Puts a refused row with its bytes into quarantine, until an operator drops it. Texts are stripped
 * of characters that a text column refuses; the bytes and `told` are exact. A refused return also
 * becomes a sighting, from which `jobs.why` explains why its minion seems silent.
 *
 * Throws JobCacheError, always as an outage: a row that quarantine refuses too must not be
 * acknowledged.
 */
export async function quarantine(pool: Pool, row: Refusal, error: unknown): Promise<RefusedRow> {
  const { kind, jid, id, raw, receivedAt } = row;
  const state = plainText(error instanceof JobCacheError ? error.sqlState : stateOf(error));
  const facts = { jid, id, incarnation: row.incarnation, receivedAt, ...row.about };
  try {
    await pool.query(QUARANTINE, [
      kind,
      plainText(jid),
      plainText(id),
      plainText(row.incarnation).slice(0, MAX_INCARNATION),
      Number.isSafeInteger(row.seq) ? row.seq : -1,
      state,
      plainText(errorText(error)),
      Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength),
      plainText(row.subject ?? ''),
      receivedAt !== undefined && Math.abs(receivedAt) <= MAX_TIME_MS ? receivedAt : null,
      Buffer.from(JSON.stringify(facts)),
    ]);
  } catch (failure) {
    const text = `a refused row can not be put into quarantine: ${errorText(failure)}`;
    throw new JobCacheError('SALT_JOBCACHE_AWAY', text, failure);
  }
  if (kind === 'return') await keepSilence(pool, row, state);
  return { kind, jid, id, state };
}

/** The sighting repeats the row in quarantine, so a refusal of it costs nothing. */
async function keepSilence(pool: Pool, row: Refusal, state: string): Promise<void> {
  const { jid, id, receivedAt: at = Date.now() } = row;
  const detail = { reason: 'quarantine', state };
  await saveSightings(pool, [{ jid, ids: [id], kind: 'refused', at, detail }]);
}

function plainText(text: string): string {
  const plain = text.replaceAll('\0', '\uFFFD').slice(0, MAX_TEXT);
  // The way through UTF-8 replaces halves of surrogate pairs.
  return Buffer.from(plain, 'utf8').toString('utf8');
}
