import { expect, test } from 'vitest';
import { WaitingLine } from './waiting-line.ts';

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

test('who leaves is left out, from either end and while the line is walked', () => {
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
