import { expect, test } from 'vitest';
import { asksForReactor, mostWaiting, reactorThreads } from './settings.ts';

test.each([
  [{ reactor: [], engines: [] }, false],
  [{ reactor: '', engines: [] }, false],
  [{ reactor: null, engines: [{ slack: {} }] }, false],
  [{ reactor: [{ a: ['/b'] }], engines: [] }, true],
  [{ reactor: '/srv/reactor.map', engines: [] }, true],
  [{ reactor: [], engines: ['reactor'] }, true],
  [{ reactor: [], engines: [{ slack: {} }, { reactor: { worker_threads: 2 } }] }, true],
  [{ reactor: [], engines: { reactor: null, slack: {} } }, true],
  [{ reactor: [], engines: [{ mine: { engine_module: 'reactor' } }] }, true],
  [{ reactor: [], engines: [{ reactor: { engine_module: 'slack' } }] }, false],
])('%j asks for a reactor: %s', (options, asks) => {
  expect(asksForReactor(options)).toBe(asks);
});

test('settings of the engine go over the options', () => {
  const engines = [{ reactor: { worker_threads: 3, worker_hwm: 7 } }];
  const options = { engines, reactorWorkerThreads: 10, reactorWorkerHwm: 10_000 };
  expect([reactorThreads(options), mostWaiting(options)]).toEqual([3, 7]);
  expect(reactorThreads({ ...options, engines: ['reactor'] })).toBe(10);
});

test("Salt's default for the queue is as much as the disk holds", () => {
  expect(mostWaiting({ engines: [], reactorWorkerHwm: 10_000 })).toBe(0);
  expect(mostWaiting({ engines: [], reactorWorkerHwm: 500 })).toBe(500);
  expect(mostWaiting({ engines: [], reactorWorkerHwm: 0 })).toBe(0);
});
