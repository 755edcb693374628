import { expect, test } from 'vitest';
import { EndedRuns } from './ended-runs.ts';

const WEEK_MS = 7 * 86_400_000;
const value = new Uint8Array([1]);
const jidsOf = (runs: EndedRuns, nowMs = 0) => runs.newest(nowMs).map(([jid]) => jid);

test('they come newest first, and none that was removed', () => {
  const runs = new EndedRuns();
  for (const jid of ['2', '3', '1']) runs.set(jid, { value, timeMs: 0 });
  runs.delete('2');
  expect(jidsOf(runs)).toEqual(['3', '1']);
  runs.clear();
  expect(jidsOf(runs)).toEqual([]);
});

test('one that the bucket has no more is forgotten', () => {
  const runs = new EndedRuns();
  runs.set('1', { value, timeMs: 0 });
  runs.set('2', { value, timeMs: 5 });
  expect(jidsOf(runs, WEEK_MS)).toEqual(['2', '1']);
  expect(jidsOf(runs, WEEK_MS + 1)).toEqual(['2']);
});

test('of more than 1,000 the newest are kept, in whatever order they come', () => {
  const runs = new EndedRuns();
  const jids = Array.from({ length: 1_200 }, (_, n) => String(10_000 + ((n * 7) % 1_200)));
  for (const jid of jids) runs.set(jid, { value, timeMs: 0 });
  expect(jidsOf(runs)).toEqual([...jids].sort().reverse().slice(0, 1_000));
});
