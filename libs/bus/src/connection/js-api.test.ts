import { expect, test } from 'vitest';
import type { Bus } from './connect.ts';
import { readAnswer, settledInfo } from './js-api.ts';

/** A bus of one stream. In so many answers, its leader does not know the last four messages yet. */
function lagging(times: number): { readonly bus: Bus; readonly asked: () => number } {
  let asked = 0;
  const request = (): Promise<unknown> => {
    asked += 1;
    const state = { messages: 1, last_seq: asked > times ? 9 : 5 };
    return Promise.resolve({ data: Buffer.from(JSON.stringify({ created: 'c', state })) });
  };
  return { bus: { inbox: { request } } as unknown as Bus, asked: () => asked };
}

async function settled(bus: Bus, seq: number, incarnation = 'c'): Promise<number | undefined> {
  return (await settledInfo(bus, 'EVENTS', { seq, incarnation }))?.lastSeq;
}

test('a new leader that lacks the newest messages is asked until it has them', async () => {
  const { bus, asked } = lagging(3);
  expect(await settled(bus, 9)).toBe(9);
  expect(asked()).toBe(4);
});

test('a stream that has them is asked once', async () => {
  const { bus, asked } = lagging(0);
  expect(await settled(bus, 9)).toBe(9);
  expect(asked()).toBe(1);
});

test('a stream that was made again is asked once', async () => {
  const { bus, asked } = lagging(99);
  expect(await settled(bus, 9, 'b')).toBe(5);
  expect(asked()).toBe(1);
});

test('a stream that still lacks them after two seconds has gone back', async () => {
  expect(await settled(lagging(99).bus, 9)).toBe(5);
});

test.each([10008, 10009, 10076, 10158])(
  'the error %i is no refusal: the same may be asked again',
  (number) => {
    const error = { code: 409, err_code: number, description: 'not now' };
    expect(readAnswer(Buffer.from(JSON.stringify({ error })))).toMatchObject({ notNow: true });
  },
);
