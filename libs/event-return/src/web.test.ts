import { mapOf, pack } from '@brine/wire';
import { expect, test } from 'vitest';
import { ReturnerError } from './returner.ts';
import { checkReply, postOf } from './web.ts';

const event = {
  tag: 'a/"b"',
  timeMs: 0,
  data: pack(mapOf({ n: 1 })),
  position: 'p1',
};
const headers = new Map([['Authorization', 'Bearer x']]);

test('a batch is a list of JSON, under one key at each try', () => {
  const batch = { events: [event, event], from: 'p0', to: 'p2' };
  const post = postOf(batch, 'https://log.example/in', headers);
  expect(post).toMatchObject({ url: 'https://log.example/in', method: 'POST' });
  expect(JSON.parse(post.body ?? '')).toEqual([
    { tag: 'a/"b"', data: { n: 1 } },
    { tag: 'a/"b"', data: { n: 1 } },
  ]);
  expect(post.headers.get('Authorization')).toBe('Bearer x');
  const key = post.headers.get('Idempotency-Key');
  expect(key).toMatch(/^[\w-]{32}$/);
  expect(postOf(batch, '', headers).headers.get('Idempotency-Key')).toBe(key);
  const other = postOf({ ...batch, to: 'p3' }, '', headers);
  expect(other.headers.get('Idempotency-Key')).not.toBe(key);
});

test.each([
  [200, undefined],
  [202, undefined],
  [400, 'refused'],
  [413, 'refused'],
  [422, 'refused'],
  [401, 'away'],
  [404, 'away'],
  [429, 'away'],
  [302, 'away'],
  [500, 'away'],
  [503, 'away'],
])('an answer %i means %s', (status, failure) => {
  const check = (): void => checkReply({ status, reason: 'Why', body: Buffer.from('be cause') });
  if (failure === undefined) return expect(check).not.toThrow();
  expect(check).toThrow(ReturnerError);
  expect(check).toThrow(expect.objectContaining({ failure }));
  expect(check).toThrow(`${status} Why: be cause`);
});
