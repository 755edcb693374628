import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { QueuedRequest } from './class-queue.ts';
import { Claims } from './request-receiver.ts';

let said: string[];
let claims: Claims;

beforeEach(() => {
  vi.useFakeTimers();
  said = [];
  claims = new Claims((subject, word) => void said.push(`${subject} ${String(word)}`));
});

afterEach(() => {
  vi.useRealTimers();
});

function queued(gateway: string, slot: string): QueuedRequest {
  const key = `${gateway}.${slot}`;
  const head = { id: slot, host: 'h', deadlineMs: 0 };
  const state = { cancelled: false, started: true, done: false };
  return { gateway, slot, key, cls: 'aes', head, body: Buffer.alloc(0), ...state };
}

test('requests that came together are claimed together, one message for each gateway', () => {
  for (const slot of ['1', '2']) claims.soon(queued('ga', slot));
  claims.soon(queued('gb', '3'));
  expect(said).toEqual([]);
  vi.advanceTimersByTime(50);
  expect(said).toEqual(['_INBOX.gw.ga.renew 1 2', '_INBOX.gw.gb.renew 3']);
  claims.soon(queued('ga', '4'));
  vi.advanceTimersByTime(50);
  expect(said[2]).toBe('_INBOX.gw.ga.renew 4');
});

test('a request that is answered at once is not claimed', () => {
  const quick = queued('ga', '1');
  claims.soon(quick);
  claims.soon(queued('ga', '2'));
  quick.done = true;
  vi.advanceTimersByTime(50);
  expect(said).toEqual(['_INBOX.gw.ga.renew 2']);
});
