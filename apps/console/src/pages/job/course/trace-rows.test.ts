import { expect, test } from 'vitest';
import { foldsIn } from './folds.ts';
import { openRows, traceRows } from './trace-rows.ts';

const span = (part: string, startMs: number, endMs: number, ...children: readonly object[]) => ({
  part,
  name: part,
  startMs,
  endMs,
  children,
});

const TRACE = [
  span(
    'command',
    0,
    10,
    span('check', 1, 3),
    span('publish', 4, 9, span('minion.a', 10, 20), span('minion.b', 10, 50)),
    span('note', 4, 6),
  ),
];

test('causes come before what they caused, however deep', () => {
  const { spans, startMs, endMs } = traceRows(TRACE);
  expect(spans.map(({ part, depth, below }) => [part, depth, below])).toEqual([
    ['command', 0, 5],
    ['check', 1, 0],
    ['publish', 1, 2],
    ['minion.a', 2, 0],
    ['minion.b', 2, 0],
    ['note', 1, 0],
  ]);
  // A cause may end before what it caused.
  expect([startMs, endMs]).toEqual([0, 50]);
});

test('the critical chain is what ended last, and what ended before that began', () => {
  const critical = traceRows(TRACE).spans.filter(({ isCritical }) => isCritical);
  expect(critical.map(({ part }) => part)).toEqual(['command', 'check', 'publish', 'minion.b']);
});

test('what is below a closed span is not seen', () => {
  const rows = traceRows(TRACE);
  expect(openRows(rows, foldsIn('2')).map(({ part }) => part)).toEqual([
    'command',
    'check',
    'publish',
    'note',
  ]);
  expect(openRows(rows, foldsIn('0,2'))).toHaveLength(1);
});

test('a trace without spans, and one of strange ones, are read', () => {
  expect(traceRows([]).spans).toEqual([]);
  const { spans } = traceRows([null, 1, { part: 7, startMs: 'x', children: 'y', error: {} }]);
  expect(spans).toMatchObject([{ part: '', startMs: 0, endMs: 0, error: undefined }]);
});

test('a chain of 50,000 spans is read', () => {
  let chain: object = span('last', 0, 1);
  for (let at = 0; at < 60_000; at += 1) chain = span('one', 0, 1, chain);
  expect(traceRows([chain]).spans.length).toBe(50_000);
});
