import type { EventMessage } from '@brine/bus/events';
import type { JobCache, Refusal, RefusedRow, SightingRow } from '@brine/job-cache';
import { JobCacheError } from '@brine/job-cache';
import { mapOf, pack } from '@brine/wire';
import { expect, test } from 'vitest';
import { OutageRetry } from './outage-retry.ts';
import { storeNotices } from './take-notices.ts';

const JID = '20261120100000000001';
const REFUSED = new JobCacheError('SALT_JOBCACHE_REFUSED', 'invalid byte sequence');
const AWAY = new JobCacheError('SALT_JOBCACHE_AWAY', 'gone');

/** A table that answers so to sightings of these minions. */
function cacheThat(answers: Record<string, Error[]>) {
  const stored: string[] = [];
  const away: Refusal[] = [];
  const cache = {
    saveSightings: (rows: readonly SightingRow[]) => {
      const failures = rows.map((row) => ({ row, error: answers[row.ids[0] ?? '']?.shift() }));
      if (failures.some(({ error }) => error === AWAY)) return Promise.reject(AWAY);
      const unfit = failures.filter(({ error }) => error !== undefined);
      const bad = new Set(unfit.map(({ row }) => row));
      stored.push(...rows.filter((row) => !bad.has(row)).flatMap((row) => row.ids));
      return Promise.resolve(unfit);
    },
    quarantine: (refusal: Refusal, error: JobCacheError) => {
      away.push(refusal);
      return Promise.resolve({ kind: refusal.kind, jid: JID, id: '', state: error.code });
    },
  };
  return { cache: cache as unknown as JobCache, stored, away };
}

function seen(id: string, seq: number, notice: string[]): EventMessage {
  const body = pack(mapOf({ jid: JID, ids: [id], kind: 'refused' }));
  const ends = {
    ack: () => void notice.push(`${id} stored`),
    nak: () => void notice.push(`${id} given back`),
  };
  const place = { incarnation: 'i', seq, timeMs: 1, jid: JID, tag: 'brine/sighting' };
  return { kind: 'sighting', body, ...place, ...ends } as unknown as EventMessage;
}

async function take(answers: Record<string, Error[]>, stopping = new AbortController()) {
  const { cache, stored, away } = cacheThat(answers);
  const notice: string[] = [];
  const outages: unknown[] = [];
  const onOutage = (error: unknown): void => {
    outages.push(error);
    stopping.abort();
  };
  const refused: RefusedRow[] = [];
  await storeNotices(
    ['a', 'b', 'c'].map((id, seq) => seen(id, seq, notice)),
    {
      cache,
      backoff: new OutageRetry({ onOutage, onRecovered: () => undefined }, stopping.signal),
      telemetry: { recordSpan: () => undefined },
      counts: { add: () => undefined, addRefused: (_, rows) => void refused.push(...rows) },
      committed: () => undefined,
      now: () => 0,
    },
  );
  return { stored, away, told: notice, outages, refused: refused.length };
}

test('one that PostgreSQL refuses is put away with its bytes, and no outage', async () => {
  const { stored, away, told: notice, outages, refused } = await take({ b: [REFUSED] });
  expect(stored).toEqual(['a', 'c']);
  expect(away).toMatchObject([{ kind: 'seen', jid: JID, seq: 1, incarnation: 'i' }]);
  expect(Buffer.from(away[0]!.raw).includes('refused')).toBe(true);
  expect(notice).toEqual(['a stored', 'b stored', 'c stored']);
  expect(outages).toEqual([]);
  expect(refused).toBe(1);
});

test('in an outage nothing is acknowledged nor put away', async () => {
  const { stored, away, told: notice, outages } = await take({ b: [AWAY] });
  expect(stored).toEqual([]);
  expect(away).toEqual([]);
  expect(notice).toEqual(['a given back', 'b given back', 'c given back']);
  expect(outages).toEqual([AWAY]);
});
