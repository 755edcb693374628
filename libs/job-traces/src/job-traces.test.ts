import type { SpanRecord } from '@brine/telemetry';
import { beforeEach, expect, test } from 'vitest';
import { JobTraces } from './job-traces.ts';

const JID = '20261121170000000001';
const T0 = 1_000_000;

let spans: SpanRecord[];
let now: number;
let traces: JobTraces;

beforeEach(() => {
  spans = [];
  now = T0;
  traces = new JobTraces({
    sampling: { first: 3, failed: 2, ratio: 0 },
    traces: (jid) => jid !== 'untraced',
    record: (span) => void spans.push(span),
    processId: 'w',
    now: () => now,
  });
});

const sent = (more: object = {}) =>
  traces.sent({ jid: JID, sentMs: T0 + 1, before: 0, minions: 5, ...more });
const wants = (minion: string, receivedMs = T0 + 11, failed = false, jid = JID) =>
  traces.wants({ jid, minion, failed, receivedMs });
const names = (): unknown[] => spans.map(({ part, parentPart }) => [part, parentPart]);

test("a minion's part runs from the publisher's report to the arrival at the gateway", () => {
  sent();
  traces.returned(JID, 'a', T0 + 11);
  expect(spans).toMatchObject([
    { part: 'minion.a', parentPart: 'publish', startMs: T0 + 1, endMs: T0 + 11 },
  ]);
});

test('a return that comes before that report waits for it', () => {
  traces.returned(JID, 'a', T0 + 2);
  expect(spans).toEqual([]);
  sent();
  expect(spans).toMatchObject([{ startMs: T0 + 1, endMs: T0 + 2, parentPart: 'publish' }]);
});

test('without that report the part is marked, is a root and has no length', () => {
  traces.returned(JID, 'a', T0 + 2);
  traces.tick();
  expect(spans).toEqual([]);
  now += 1_000;
  traces.tick();
  expect(spans).toMatchObject([{ startMs: T0 + 2, endMs: T0 + 2 }]);
  expect(spans[0]?.parentPart).toBe(undefined);
  expect(spans[0]?.attributes).toMatchObject({ 'brine.sent': 'unknown' });
  sent();
  expect(spans).toHaveLength(1);
});

test('the first sending counts; the span has the number of others', () => {
  sent({ sentMs: T0 + 5 });
  sent();
  sent({ sentMs: T0 + 9, before: 1 });
  traces.returned(JID, 'a', T0 + 11);
  expect(spans).toMatchObject([{ startMs: T0 + 1 }]);
  expect(spans[0]?.attributes).toMatchObject({ 'brine.sent_again': 1 });
});

test('a clock that is behind makes no span that ends before it starts', () => {
  sent();
  traces.returned(JID, 'a', T0 - 4);
  expect(spans).toMatchObject([{ startMs: T0 - 4, endMs: T0 - 4 }]);
  expect(spans[0]?.attributes).toMatchObject({ 'brine.clock_skew_ms': 5 });
});

test('each minion of a batch belongs to the piece that it got', () => {
  sent({ piece: 'r1', ids: ['a'] });
  sent({ piece: 'r2', ids: ['b'], sentMs: T0 + 20 });
  traces.returned(JID, 'b', T0 + 30);
  traces.returned(JID, 'a', T0 + 30);
  expect(names()).toEqual([
    ['minion.b', 'publish#r2'],
    ['minion.a', 'publish#r1'],
  ]);
  expect(spans.map(({ startMs }) => startMs)).toEqual([T0 + 20, T0 + 1]);
});

test('the first returns are wanted, then failures and slow ones, the rest is counted', () => {
  sent();
  expect(['a', 'b', 'c'].map((id) => wants(id))).toEqual([true, true, true]);
  expect(wants('d')).toBe(false);
  expect(['e', 'f', 'g'].map((id) => wants(id, T0 + 11, true))).toEqual([true, true, false]);
  // The earlier ones took 10 ms.
  expect(wants('h', T0 + 15)).toBe(false);
  expect(wants('i', T0 + 17)).toBe(true);
  expect(wants('j', T0 + 20)).toBe(false);
  expect(wants('k', T0 + 30)).toBe(true);
  traces.tick();
  expect(spans).toEqual([]);
  now = T0 + 10_000;
  traces.tick();
  expect(spans).toMatchObject([
    { part: 'left-out.w.1', parentPart: 'publish', startMs: T0 + 11, endMs: T0 + 20 },
  ]);
  expect(spans[0]?.attributes).toEqual({ 'brine.left_out': 4, 'brine.slowest_ms': 19 });
});

test('a job that is not traced has no spans at all, whatever fails', () => {
  expect(wants('a', T0, true, 'untraced')).toBe(false);
  traces.close();
  expect(spans).toEqual([]);
});

test('an id too long for the note to the gateway gets no spans: its hops would not all be there', () => {
  sent();
  expect(wants('x'.repeat(235))).toBe(false);
  expect(wants('x'.repeat(230))).toBe(true);
});

test('a stop records waiting spans; of too many jobs the oldest are forgotten', () => {
  traces.returned(JID, 'a', T0);
  for (let at = 0; at < 2_000; at += 1) wants('m', T0, false, `job-${at}`);
  expect(names()).toEqual([['minion.a', undefined]]);
  traces.returned('job-1999', 'z', T0);
  traces.close();
  expect(names()).toContainEqual(['minion.z', undefined]);
});
