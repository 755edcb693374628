import { beforeEach, expect, test } from 'vitest';
import type { RequestClass } from '../subjects/names.ts';
import { Admission, WaitingLine } from './admission.ts';
import { Pending } from './pending-request.ts';
import { Suspects } from './suspects.ts';

let admission: Admission;

beforeEach(() => {
  admission = new Admission(() => 1, {
    auth: { count: 2, bytes: 100, patienceMs: Infinity, perWorker: 1 },
    aes: { count: 10, bytes: 12, patienceMs: Infinity },
  });
});

const suspects = new Suspects(() => undefined);

/** One that is taken in hand; undefined where it is refused. */
function take(cls: RequestClass, bytes = 1, urgent = false): Pending | undefined {
  const request = { id: 'r', class: cls, body: Buffer.alloc(bytes), deadlineMs: 0, urgent };
  if (!admission.take(request)) return undefined;
  return new Pending(request, suspects.begins(request), 0, () => undefined);
}

test('beyond the limits of count and bytes nothing is taken, and that is counted', () => {
  const first = take('auth');
  expect(take('auth')).toBeDefined();
  expect(take('auth')).toBeUndefined();
  expect(take('aes', 5)).toBeDefined();
  expect(take('aes', 8)).toBeUndefined();
  expect(take('aes', 7)).toBeDefined();
  expect(take('clear', 1_000)).toBeDefined();
  expect(admission.stats.refusedByLimit).toBe(2);
  admission.give(first!);
  expect(take('auth')).toBeDefined();
  expect(admission.statsOf('auth', 0)).toEqual({ inFlight: 2, waiting: 0, bytes: 2 });
});

test('a class with turns has so many at each worker, and a further try needs no other turn', () => {
  const [first, next] = [take('auth')!, take('auth', 1, true)!];
  expect(admission.isNext(first, 0)).toBe(true);
  admission.goes(first, 0);
  expect(admission.isNext(next, 0)).toBe(false);
  admission.wait(next, 0);
  expect(admission.isNext(first, 0)).toBe(true);
  expect([...admission.waiting('auth')]).toEqual([next]);
  expect(admission.statsOf('auth', 0)).toMatchObject({ inFlight: 1, waiting: 1 });
  admission.give(first);
  expect(admission.isNext(next, 0)).toBe(true);
});

interface Peer {
  readonly name: string;
  readonly linedUpAt: number;
}

function lineOf(ages: readonly number[], patienceMs?: number): WaitingLine<Peer> {
  const line = new WaitingLine<Peer>(patienceMs);
  const now = performance.now();
  ages.forEach((age, index) => line.add({ name: `p${index}`, linedUpAt: now - age }));
  return line;
}

const namesOf = (line: Iterable<Peer>): string[] => [...line].map(({ name }) => name);

test('the oldest comes first', () => {
  expect(namesOf(lineOf([300, 200, 100]))).toEqual(['p0', 'p1', 'p2']);
});

test('a line that has grown old is served from its young end', () => {
  expect(namesOf(lineOf([5_000, 2_000, 100], 4_000))).toEqual(['p2', 'p1', 'p0']);
  expect(namesOf(lineOf([3_000, 2_000, 100], 4_000))).toEqual(['p0', 'p1', 'p2']);
});

test('a peer that leaves is left out, from either end and while the line is walked', () => {
  const line = lineOf([30, 20, 10]);
  const [first, middle, last] = [...line];
  for (const peer of line) {
    if (peer === first) line.remove(middle as Peer);
    else expect(peer).toBe(last);
  }
  line.remove(last as Peer);
  line.remove(last as Peer);
  expect(namesOf(line)).toEqual(['p0']);
  line.remove(first as Peer);
  expect(line.size).toBe(0);
  line.add(middle as Peer);
  line.add(middle as Peer);
  expect(namesOf(line)).toEqual(['p1']);
});
