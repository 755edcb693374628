import { expect, it } from 'vitest';
import { originOf } from './job-origin.ts';

it.each([
  ['a command', {}, { kind: 'user' }, 'cli'],
  ['a log-in at port 4506', {}, { kind: 'eauth' }, 'cli'],
  ['the HTTP API', { readsStore: true }, { kind: 'token' }, 'api'],
  ['a minion', {}, { kind: 'minion' }, 'minion'],
  ['the schedule', { readsStore: true }, { kind: 'user', via: 'schedule nightly' }, 'schedule'],
  ['the reactor', { readsStore: true }, { kind: 'user', via: 'reactor my/tag' }, 'reactor'],
  ['a runner', { readsStore: true }, { kind: 'token', via: 'runner.salt.cmd 2026' }, 'run'],
  ['a runner of a minion', {}, { kind: 'minion', via: 'runner.x.y 2026' }, 'run'],
  ['a batch of the HTTP API', { origin: 'api' }, { kind: 'token', via: 'batch 2026' }, 'api'],
] as const)('a job of %s has its origin', (_name, request, caller, origin) => {
  expect(originOf(request, caller)).toBe(origin);
});
