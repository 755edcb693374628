import { digestOf } from '@brine/crypt';
import type { ReturnRow, SightingRow } from '@brine/job-cache';
import { isMap, listOf, scanMap, textOf, unpackMap } from '@brine/wire';
import type { KeptJob } from './store.ts';

/** Where a row comes from; of several the lowest counts. */
interface Position {
  readonly origin: number;
  readonly incarnation: string;
  readonly seq: number;
}

/** Whether one row counts before the other. */
export function isBefore(one: Position, other: Position): boolean {
  if (one.origin !== other.origin) return one.origin < other.origin;
  if (one.incarnation !== other.incarnation) return one.incarnation < other.incarnation;
  return one.seq < other.seq;
}

function positionOf({ row, origin }: KeptJob): Position {
  return { origin, incarnation: row.incarnation, seq: row.seq };
}

/** Two rows of one jid as one, as libs/job-cache/src/save/save-jobs.ts: parts add their targets. */
export function joined(known: KeptJob, next: KeptJob): KeptJob {
  const isFirst = isBefore(positionOf(next), positionOf(known));
  const areParts = known.origin === 0 && next.origin === 0;
  if (!isFirst && !areParts) return known;
  const first = isFirst ? next : known;
  const { row } = first;
  const deadlineAt = greatest(known.row.deadlineAt, next.row.deadlineAt);
  const afterMs = greatest(known.afterMs, next.afterMs);
  if (!areParts) return { ...next, row: { ...row, deadlineAt }, afterMs };
  return {
    ...known,
    afterMs,
    row: {
      ...row,
      minions: [...new Set([...known.row.minions, ...next.row.minions])],
      missing: [...new Set([...known.row.missing, ...next.row.missing])],
      deadlineAt,
      notAfter: greatest(known.row.notAfter, next.row.notAfter),
    },
  };
}

/** As libs/job-cache/src/save/sightings.ts: what an answer to find_job tells. */
export function sightingOf(row: ReturnRow): SightingRow | undefined {
  const load = unpackMap(row.load);
  const asked = listOf(load, 'fun_args')?.[0];
  const answer = load.get('return');
  if (textOf(load, 'fun') !== 'saltutil.find_job') return undefined;
  if (typeof asked !== 'string' || !isMap(answer)) return undefined;
  const kind = answer.size > 0 ? 'running' : 'not_running';
  return { jid: asked, ids: [row.id], kind, at: row.receivedAt };
}

/** What a minion said, less what changes at each send (libs/job-cache prepare-return.ts). */
export function contentOf(load: Uint8Array): string {
  const scan = scanMap(load);
  const parts = ['id', 'jid', 'fun', 'return', 'retcode', 'success', 'out'].map((key) =>
    Buffer.from(scan.raw(key) ?? []),
  );
  return digestOf('sha256', parts).toString('hex').slice(0, 16);
}

/** retcode other than 0, or success false. */
export function hasFailed(load: Uint8Array): boolean {
  const map = unpackMap(load);
  return map.get('success') === false || map.get('retcode') !== 0;
}

function greatest(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.max(one, other);
}
