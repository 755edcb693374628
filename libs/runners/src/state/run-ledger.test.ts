import { mapOf, type SaltMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { type PauseMessage, Pauses } from './run-ledger.ts';

const message = (kind: PauseMessage, id = '__all__', duration?: number): SaltMap =>
  mapOf({ word: kind, state_id: id, duration });

/** A run that hears words, with a clock that goes on by a minute each time that it is read. */
function pausesWith(...messages: readonly SaltMap[]): Pauses {
  let minutes = 0;
  const pauses = new Pauses(() => (minutes += 1) * 60_000);
  for (const one of messages) pauses.take(one);
  return pauses;
}

const isOver = (gate: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    gate.then(() => true),
    new Promise<boolean>((resolve) => setImmediate(() => resolve(false))),
  ]);

test('a state is held by a pause of its id, or of all, and no other one is', async () => {
  const cut = new AbortController();
  const one = pausesWith(message('pause', 'a'));
  expect(await one.gate('b', cut.signal)).toBe('run');
  const held = one.gate('a', cut.signal);
  expect(await isOver(held)).toBe(false);
  one.take(message('resume', 'a'));
  expect(await held).toBe('run');
  const all = pausesWith(message('pause')).gate('b', cut.signal);
  expect(await isOver(all)).toBe(false);
  cut.abort(new Error('cut off'));
  await expect(all).rejects.toThrow('cut off');
});

test('a pause with a duration counts from when the state is reached', async () => {
  // The state is reached a minute after the pause at the earliest.
  const pauses = pausesWith(message('pause', 'a', 90));
  const held = pauses.gate('a', undefined);
  expect(await isOver(held)).toBe(false);
  expect(await held).toBe('run');
});

test('an end stays an end until it is taken back', async () => {
  expect(await pausesWith(message('pause', 'a'), message('kill', 'a')).gate('a', undefined)).toBe(
    'kill',
  );
  expect(await pausesWith(message('kill', 'a'), message('pause', 'a')).gate('a', undefined)).toBe(
    'kill',
  );
  expect(await pausesWith(message('kill', 'a'), message('resume')).gate('a', undefined)).toBe(
    'run',
  );
});

test('an orchestration within another one hears the words for that one, later ones too', async () => {
  const messages: SaltMap[] = [message('pause', 'a')];
  const inner = new Pauses(
    () => Date.now(),
    () => messages,
  );
  const held = inner.gate('a', undefined);
  expect(await isOver(held)).toBe(false);
  messages.push(message('kill', 'a'));
  expect(await held).toBe('kill');
});
