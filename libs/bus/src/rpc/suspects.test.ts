import { beforeEach, expect, test } from 'vitest';
import { Pending } from './pending-request.ts';
import { type Stall, Suspects } from './suspects.ts';

let suspects: Suspects;
let freed: Pending[];
let stalls: Stall[];
/** What is to be done once the loop has taken what is here. */
let due: (() => void)[];
let workers: number;
let now: number;

beforeEach(() => {
  freed = [];
  stalls = [];
  due = [];
  workers = Infinity;
  now = Math.ceil(performance.now());
  suspects = new Suspects(
    (pending) => freed.push(pending),
    (stall) => stalls.push(stall),
    () => workers,
    (act) => due.push(act),
  );
});

function turn(): void {
  for (const act of due.splice(0)) act();
}

let ids = 0;

function begin(asker?: string, body = Buffer.from('x')): Pending {
  const by = asker === undefined ? {} : { asker };
  const request = { id: `r${ids++}`, class: 'aes', body, deadlineMs: 0, ...by } as const;
  return new Pending(request, suspects.begins(request), 0, () => undefined);
}

/** It goes to these workers one after the other, and each falls silent. */
function strike(pending: Pending, ...workers: readonly string[]): void {
  for (const worker of workers) {
    suspects.goes(pending, worker);
    suspects.lapsed(pending, worker, now);
  }
  suspects.mustWait(pending, now);
}

/** Two workers are lost to this asker; gives how long it rests then, in ms. */
function stall(asker: string): number {
  const pending = begin(asker);
  strike(pending, 'a', 'b');
  now += 6_000;
  for (const one of suspects.refused(pending, now)) suspects.ends(one, false);
  const from = now;
  while (suspects.turnsAway({ ...pending.request, id: 'next' }, now)) now += 500;
  return now - from;
}

test('a request that lost two workers is waiting, and refused once that is clear', () => {
  const pending = begin('m');
  strike(pending, 'a');
  expect(suspects.waiting('aes').size).toBe(0);
  strike(pending, 'b');
  expect(suspects.waiting('aes').has(pending)).toBe(true);
  expect(suspects.refused(pending, now + 4_900)).toEqual([]);
  expect(suspects.refused(pending, now + 5_100)).toEqual([pending]);
  expect(stalls).toEqual([{ request: pending.request, requests: 1, workers: ['a', 'b'] }]);
});

test('a large request has more time before two workers count as lost to it', () => {
  const large = begin('m', Buffer.alloc(50 * 1_048_576));
  large.claim(now);
  // A worker of a busy machine opens it in ten seconds, and says nothing meanwhile.
  expect(large.lapsesAt - now).toBe(11_200);
  strike(large, 'a', 'b');
  expect(suspects.refused(large, now + 14_900)).toEqual([]);
  expect(suspects.refused(large, now + 15_100)).toEqual([large]);
  const small = begin('n', Buffer.alloc(1_048_575));
  small.claim(now);
  expect(small.lapsesAt - now).toBe(1_200);
});

test('a worker that is heard again soon was slow: the request goes on, and no asker rests', () => {
  const pending = begin('m');
  strike(pending, 'a', 'b');
  now += 1_500;
  suspects.answered('a', now);
  turn();
  expect(freed).toEqual([pending]);
  expect(suspects.refused(pending, now + 10_000)).toEqual([]);
  expect(suspects.turnsAway({ ...pending.request, id: 'next' }, now)).toBe(false);
});

test('an asker that stalls two workers for seconds rests, though they come back', () => {
  const pending = begin('m');
  strike(pending, 'a', 'b');
  now += 4_000;
  suspects.answered('a', now);
  expect(suspects.turnsAway({ ...pending.request, id: 'next' }, now)).toBe(true);
  expect(stalls).toEqual([]);
});

test('each rest is twice as long, up to five minutes, and no other asker rests', () => {
  const rests = Array.from({ length: 9 }, () => stall('m'));
  expect(rests).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 300].map((seconds) => seconds * 1_000));
  expect(stall('other')).toBe(2_000);
  now += 700_000;
  suspects.answered('b', now);
  expect(stall('m')).toBe(2_000);
});

test('of a crowd one suspect goes at a time, then more as they go well', () => {
  const crowd = Array.from({ length: 100 }, (_, n) => begin(`m${n}`));
  for (const one of crowd) {
    suspects.goes(one, 'a');
    suspects.lapsed(one, 'a', now);
  }
  const goes = (): Pending[] => crowd.filter((one) => !one.guarded && !suspects.mustWait(one, now));
  const [first] = goes();
  suspects.goes(first as Pending, 'b');
  expect(goes()).toEqual([]);
  suspects.goesOn(first as Pending);
  for (let n = 0; n < 31; n += 1) {
    const one = begin(`other${n}`);
    one.struck = true;
    suspects.goes(one, 'b');
    suspects.goesOn(one);
  }
  for (const one of goes().slice(0, 1)) suspects.goes(one, 'b');
  expect(goes().length).toBeGreaterThan(0);
});

test('a worker has one suspect at a time, and any number of other requests', () => {
  const [one, other, fresh] = [begin('m'), begin('n'), begin('o')];
  strike(one, 'a');
  strike(other, 'a');
  suspects.goes(one, 'b');
  expect([...suspects.notFor(other)]).toEqual(expect.arrayContaining(['b']));
  expect([...suspects.notFor(fresh)]).toEqual([]);
  suspects.goesOn(one);
  expect([...suspects.notFor(other)]).not.toContain('b');
});

test('a suspect that its worker refused may go to that worker again', () => {
  const one = begin('m');
  strike(one, 'a');
  suspects.goes(one, 'b');
  expect([...suspects.notFor(one)]).not.toContain('b');
});

test('a worker that falls silent does so with its suspect, not with one that it went on with', () => {
  const [honest, poison] = [begin('m'), begin('bad')];
  for (const one of [honest, poison]) {
    suspects.goes(one, 'a');
    suspects.lapsed(one, 'a', now);
  }
  suspects.goes(honest, 'b');
  suspects.goesOn(honest);
  suspects.goes(poison, 'b');
  suspects.lapsed(poison, 'b', now);
  suspects.lapsed(honest, 'b', now);
  expect(suspects.mustWait(honest, now)).toBe(false);
  expect(suspects.mustWait(poison, now)).toBe(true);
  now += 6_000;
  expect(suspects.refused(honest, now)).toEqual([]);
  expect(suspects.refused(poison, now)).toEqual([poison]);
});

test('while one request of an asker is suspected, its others wait for it', () => {
  const [one, other] = [begin('m'), begin('m')];
  strike(one, 'a');
  expect(suspects.mustWait(other, now)).toBe(true);
  suspects.goes(one, 'b');
  suspects.ends(one, true);
  turn();
  expect(freed).toEqual([other]);
});

test('thousands that wait are looked through once for all words that came together', () => {
  const crowd = Array.from({ length: 3_000 }, (_, n) => begin(`m${n}`));
  for (const one of crowd) {
    suspects.goes(one, 'a');
    suspects.lapsed(one, 'a', now);
  }
  for (const one of crowd) if (!suspects.mustWait(one, now)) suspects.goes(one, 'b');
  expect(suspects.waiting('aes').size).toBe(crowd.length - 1);
  for (let word = 0; word < 3_000; word += 1) suspects.answered('a', now);
  const [first] = crowd;
  suspects.ends(first as Pending, true);
  expect(due).toHaveLength(1);
  turn();
  expect(freed[0]).toBe(crowd[1]);
});

test('no more suspects go than there are workers, however many went well', () => {
  const crowd = Array.from({ length: 300 }, (_, n) => begin(`m${n}`));
  for (const one of crowd) {
    suspects.goes(one, 'a');
    suspects.lapsed(one, 'a', now);
  }
  for (const one of crowd.splice(0, 200)) {
    suspects.goes(one, 'b');
    suspects.ends(one, true);
  }
  const going = (): number => {
    const free = crowd.filter((one) => !suspects.mustWait(one, now));
    for (const [n, one] of free.entries()) {
      if (!suspects.mustWait(one, now)) suspects.goes(one, `w${n}`);
    }
    return crowd.filter(({ guarded }) => guarded).length;
  };
  workers = 3;
  expect(going()).toBe(3);
  workers = 5;
  expect(going()).toBe(5);
});
