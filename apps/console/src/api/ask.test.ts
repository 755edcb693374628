import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { endFakeBrowser, fakeBrowser } from '../../test/fake-browser.ts';
import type { Asked } from './ask.ts';

const LOST = { name: 'ApiError', code: undefined, retryable: true };
const answers: (() => Response)[] = [];
const sent: (string | null)[] = [];

beforeEach(() => {
  fakeBrowser();
  vi.useFakeTimers();
  vi.stubGlobal('fetch', (_address: string, { headers }: { readonly headers: Headers }) => {
    sent.push(headers.get('Idempotency-Key'));
    const answer = answers.shift();
    return answer === undefined
      ? Promise.reject(new TypeError('the connection was reset'))
      : Promise.resolve().then(answer);
  });
});
afterEach(() => {
  answers.length = 0;
  sent.length = 0;
  vi.useRealTimers();
  return endFakeBrowser();
});

const lost = (): Response => {
  throw new TypeError('the connection was reset');
};
const json = (status: number, body: object) => (): Response =>
  new Response(JSON.stringify(body), { status });

/** Asks, and lets time pass. */
async function outcome(asked: Asked): Promise<unknown> {
  const { ask } = await import('./ask.ts');
  const asking = ask('/jobs', asked).catch((error: unknown) => error);
  await vi.runAllTimersAsync();
  return asking;
}

test('a request with a key is sent again where its answer is lost, with the same key', async () => {
  answers.push(
    lost,
    () => new Response('<html>', { status: 502, statusText: 'Bad Gateway' }),
    () => new Response('{"jid": "2026', { status: 202 }),
    json(202, { jid: '1' }),
  );
  expect(await outcome({ body: {}, idempotencyKey: 'a-key' })).toEqual({ jid: '1' });
  expect(sent).toEqual(['a-key', 'a-key', 'a-key', 'a-key']);
});

test('an answer that refuses is one, and is not asked for twice', async () => {
  answers.push(json(503, { code: 'too-many', title: 'Too many', retryable: true }));
  expect(await outcome({ body: {}, idempotencyKey: 'a-key' })).toMatchObject({ code: 'too-many' });
  expect(sent).toHaveLength(1);
});

test('it ends where nothing answers', async () => {
  expect(await outcome({ body: {}, idempotencyKey: 'a-key' })).toMatchObject(LOST);
  expect(sent.length).toBeGreaterThan(1);
});

test('a request without a key is sent once', async () => {
  answers.push(lost, json(200, {}));
  expect(await outcome({ body: {} })).toMatchObject(LOST);
  expect(sent).toEqual([null]);
});

test('an answer that breaks off is an error', async () => {
  answers.push(() => new Response('{"items": [', { status: 200 }));
  expect(await outcome({})).toMatchObject(LOST);
});
