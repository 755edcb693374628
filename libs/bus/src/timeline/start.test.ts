import { expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import { markOf, printPosition } from './position.ts';
import { findStart, isTrimmedSince, placeIn } from './start.ts';

const info = { firstSeq: 100, lastSeq: 200, messages: 101, firstTime: '2026-11-26T10:00:00Z' };

test('a place in what is kept is where reading goes on', () => {
  for (const seq of [99, 100, 200]) expect(placeIn(info, { seq })).toEqual({ place: { seq } });
  const inPart = { seq: 100, index: 3 };
  expect(placeIn(info, inPart)).toEqual({ place: inPart });
});

test('from before what is kept, reading begins at the first and says so', () => {
  for (const asked of [{ seq: 98 }, { seq: 99, index: 0 }]) {
    expect(placeIn(info, asked)).toMatchObject({
      place: { seq: 99 },
      notice: {
        kind: 'trimmed',
        text: 'Events before 2026-11-26 10:00:00 UTC are not kept any more (brine.events_keep).',
      },
    });
  }
  const empty = { ...info, firstSeq: 201, messages: 0, firstTime: '0001-01-01T00:00:00Z' };
  expect(placeIn(empty, { seq: 200 })).toEqual({ place: { seq: 200 } });
  expect(placeIn(empty, { seq: 150 }).notice?.text).toContain('No older events are kept');
});

test('a place that the stream never reached means that it was put back', () => {
  expect(placeIn(info, { seq: 201 })).toMatchObject({
    place: { seq: 200 },
    notice: { kind: 'restored' },
  });
});

test('a stream that never dropped anything is not short of what was before its first', () => {
  const before = Date.parse('2026-11-26T09:00:00Z');
  const kept = { ...info, lastTime: '2026-11-26T11:00:00Z' };
  expect(isTrimmedSince(kept, before)).toBe(true);
  expect(isTrimmedSince(kept, Date.parse(info.firstTime))).toBe(false);
  expect(isTrimmedSince({ ...kept, firstSeq: 1 }, before)).toBe(false);
});

test('an empty stream is short of what it had since a time, and of nothing on a quiet master', () => {
  const empty = {
    firstSeq: 201,
    messages: 0,
    firstTime: '0001-01-01T00:00:00Z',
    lastTime: '2026-11-26T11:00:00Z',
  };
  expect(isTrimmedSince(empty, Date.parse('2026-11-26T10:00:00Z'))).toBe(true);
  expect(isTrimmedSince(empty, Date.parse('2026-11-26T12:00:00Z'))).toBe(false);
});

/** A bus. In so many answers, its leader of EVENTS does not know the last four messages yet. */
function lagging(times: number): Bus {
  let asked = 0;
  const request = (subject: string): Promise<unknown> => {
    if (subject.endsWith('.EVENTS')) asked += 1;
    const isBehind = subject.endsWith('.EVENTS') && asked <= times;
    const state = { messages: 9, first_seq: 1, last_seq: isBehind ? 5 : 9 };
    return Promise.resolve({ data: Buffer.from(JSON.stringify({ created: 'c', state })) });
  };
  return { inbox: { request } } as unknown as Bus;
}

test('a position that a new leader has not reached yet is no stream that was put back', async () => {
  const mark = markOf({ events: 'c', publications: 'c' });
  const places = { events: { seq: 9 }, publications: { seq: 9 } };
  const position = printPosition({ ...places, mark });
  const found = await findStart(lagging(2), { position });
  expect(found).toMatchObject({ places, notices: [] });
  const back = await findStart(lagging(99), { position });
  expect(back).toMatchObject({
    places: { events: { seq: 5 } },
    notices: [{ kind: 'restored' }],
  });
});
