import { expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import type { StreamInfo } from '../connection/js-api.ts';
import { firstSince } from './direct-get.ts';

const STATE = { messages: 3, first_seq: 7, last_seq: 9, last_ts: '2026-11-26T10:00:00Z' };
const INFO = { messages: 3, firstSeq: 7, lastSeq: 9, lastTime: STATE.last_ts } as StreamInfo;
const LAST_MS = Date.parse(STATE.last_ts);

/** A bus of one stream whose replica has nothing young until it was asked so often. */
function lagging(times: number): { readonly bus: Bus; readonly asked: () => number } {
  let asked = 0;
  const request = (subject: string): Promise<unknown> => {
    if (subject.includes('STREAM.INFO')) {
      const data = Buffer.from(JSON.stringify({ created: 'c', config: {}, state: STATE }));
      return Promise.resolve({ data });
    }
    asked += 1;
    const values: Record<string, string> = { 'Nats-Sequence': '9' };
    const headers = { code: asked > times ? 0 : 404, get: (name: string) => values[name] ?? '' };
    return Promise.resolve({ data: Buffer.alloc(0), headers });
  };
  return { bus: { inbox: { request } } as unknown as Bus, asked: () => asked };
}

test('a replica that lacks the newest messages does not hide them', async () => {
  const { bus, asked } = lagging(2);
  expect(await firstSince(bus, 'EVENTS', LAST_MS, INFO)).toBe(9);
  expect(asked()).toBe(3);
});

test('where all are older, it is the sequence after the last, at once', async () => {
  const { bus, asked } = lagging(99);
  expect(await firstSince(bus, 'EVENTS', LAST_MS + 1, INFO)).toBe(10);
  expect(asked()).toBe(1);
  expect(await firstSince(bus, 'EVENTS', 0, INFO)).toBe(7);
  expect(await firstSince(bus, 'EVENTS', LAST_MS, { ...INFO, messages: 0 })).toBe(10);
});

test('a replica that never has them is an error, not a gap', async () => {
  const { bus } = lagging(99);
  await expect(firstSince(bus, 'EVENTS', LAST_MS, INFO)).rejects.toMatchObject({
    code: 'BUS_STREAM_AWAY',
  });
});
