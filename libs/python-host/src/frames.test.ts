import { mapOf, pack } from '@brine/wire';
import { expect, test } from 'vitest';
import { frameOf, FrameReader } from './frames.ts';
import { LIMITS } from './settings.ts';

const MESSAGES = [mapOf({ op: 'run' }), mapOf({ value: 'x'.repeat(3000) }), mapOf({ value: null })];

test('messages are found however the pipe cuts them', () => {
  const bytes = Buffer.concat(MESSAGES.map(frameOf));
  for (const size of [1, 2, 3, 4, 5, 7, 1000, bytes.length]) {
    const reader = new FrameReader();
    const found = [];
    for (let at = 0; at < bytes.length; at += size) {
      found.push(...reader.read(bytes.subarray(at, at + size)));
    }
    expect(found).toEqual(MESSAGES);
  }
});

test('an answer that is announced as too large is refused before it is read', () => {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(1001);
  expect(() => new FrameReader(1000).read(head)).toThrow('larger than 1000 bytes');
  head.writeUInt32BE(LIMITS.messageBytes + 1);
  expect(() => new FrameReader().read(head)).toThrow('the answer is larger');
});

test.each([
  ['no map', pack([1])],
  ['no msgpack', Buffer.from([0xc1])],
  ['nothing', Buffer.alloc(0)],
])('an answer that is %s is an error with a code', (_name, body) => {
  const frame = Buffer.concat([Buffer.alloc(4), body]);
  frame.writeUInt32BE(body.length);
  expect(() => new FrameReader().read(frame)).toThrow(
    expect.objectContaining({ name: 'PythonCallError', code: 'size' }) as Error,
  );
});

test('a request that is too large is not sent', () => {
  const value = 'x'.repeat(LIMITS.messageBytes);
  expect(() => frameOf(mapOf({ value }))).toThrow('the request is larger');
});
