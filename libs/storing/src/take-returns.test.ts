import type { EventMessage } from '@brine/bus/events';
import type { JobCache, ReturnRow } from '@brine/job-cache';
import { JobCacheError } from '@brine/job-cache';
import { returnLoad } from '@brine/testing';
import { expect, test } from 'vitest';
import { OutageRetry } from './outage-retry.ts';
import { takeReturns } from './take-returns.ts';

const JID = '20261120100000000001';
const AWAY = new JobCacheError('SALT_JOBCACHE_AWAY', 'gone');

/** Takes one group of returns of these minions; `save` is the store's part. Gives what happened. */
async function take(ids: readonly string[], save: (stop: AbortController) => Promise<void>) {
  const stop = new AbortController();
  const told: string[] = [];
  const cache = {
    saveReturns: async (rows: readonly ReturnRow[]) => {
      await save(stop);
      told.push(`${rows.length} committed`);
      return { stored: rows.length, known: 0, replaced: 0, refused: [] };
    },
  } as unknown as JobCache;
  const events = ids.map((id, seq) => returned(id, seq, told));
  await takeReturns(oneGroup(events), {
    cache,
    backoff: new OutageRetry(
      { onOutage: () => undefined, onRecovered: () => undefined },
      stop.signal,
    ),
    telemetry: { recordSpan: () => undefined },
    counts: { add: () => undefined, addRefused: () => undefined },
    committed: (seqs) => told.push(`${seqs.join()} told`),
    now: () => 0,
  });
  return told;
}

async function* oneGroup(
  events: readonly EventMessage[],
): AsyncGenerator<readonly EventMessage[], void> {
  yield await Promise.resolve(events);
}

function returned(id: string, seq: number, told: string[]): EventMessage {
  const ends = {
    ack: () => void told.push(`${id} acknowledged`),
    nak: () => void told.push(`${id} given back`),
  };
  const place = { incarnation: 'i', seq, timeMs: 1, jid: JID, minion: id, tag: '' };
  const body = returnLoad(JID, id, true);
  return { kind: 'ret', body, ...place, ...ends } as unknown as EventMessage;
}

test('returns are acknowledged after their commit', async () => {
  const told = await take(['a', 'b'], () => Promise.resolve());
  expect(told).toEqual(['2 committed', '0,1 told', 'a acknowledged', 'b acknowledged']);
});

test('a store that stops in an outage gives its returns back', async () => {
  const told = await take(['a', 'b'], (stop) => {
    stop.abort();
    return Promise.reject(AWAY);
  });
  expect(told).toEqual(['a given back', 'b given back']);
});
