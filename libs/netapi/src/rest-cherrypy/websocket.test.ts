import type { HttpRequest, HttpSocket } from '@brine/http';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Followers } from '../live/followers.ts';
import type { Sight } from '../live/sight.ts';
import type { ApiCaller } from '../sessions/callers.ts';
import type { EventParts } from './events.ts';
import { serveSocket } from './websocket.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const REQUEST = { ip: '127.0.0.1', query: {} } as HttpRequest;

function callerUntil(expire: number): ApiCaller {
  const reader = { principal: 'anne', acl: undefined, matching: () => new Set<string>() };
  return { token: 'a', expire, groups: [], reader };
}

class Peer implements HttpSocket {
  readonly bufferedAmount = 0;
  readonly sent: string[] = [];
  closed: number | undefined;
  readonly #listeners = new Map<string, (data?: unknown) => void>();

  send(text: string): void {
    this.sent.push(text);
  }

  close(code = 1000): void {
    this.closed ??= code;
    this.hear('close');
  }

  terminate(): void {
    this.close(1006);
  }

  on(event: string, listener: (data?: unknown) => void): void {
    this.#listeners.set(event, listener);
  }

  hear(event: string, data?: unknown): void {
    this.#listeners.get(event)?.(data);
  }
}

const ALL: Sight = {
  key: 'all',
  reader: { principal: 'alice', acl: undefined, matching: () => new Set() },
  sees: () => true,
  seesJob: () => true,
};

function served(found: () => ApiCaller | undefined) {
  const followers = new Followers();
  const callers = { again: () => Promise.resolve(found()) };
  const parts = { followers, callers, sight: () => ALL } as unknown as EventParts;
  const peer = new Peer();
  const caller = callerUntil(Date.now() / 1_000 + 3_600);
  serveSocket(peer, REQUEST, caller, parts);
  return { peer, followers, caller };
}

it('a client that never is ready is disconnected', async () => {
  const { peer, followers } = served(() => undefined);
  peer.hear('message', 'hello');
  await vi.advanceTimersByTimeAsync(29_000);
  expect([peer.sent, peer.closed]).toEqual([['server received message'], undefined]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect([peer.closed, followers.stats.followers]).toEqual([1008, 0]);
});

it('a client that is ready follows until its token is not valid', async () => {
  let isValid = true;
  const { peer, followers, caller } = served(() => (isValid ? caller : undefined));
  peer.hear('message', 'websocket client ready');
  await vi.advanceTimersByTimeAsync(60_000);
  expect([peer.closed, followers.stats.followers]).toEqual([undefined, 1]);
  isValid = false;
  await vi.advanceTimersByTimeAsync(30_000);
  expect([peer.closed, followers.stats.followers]).toEqual([1000, 0]);
});
