import { until } from '@brine/testing/waits';
import { listOf, textOf, unpackMap } from '@brine/wire';
import { expect, it, vi } from 'vitest';
import { expiredReporter } from './expired-jobs.ts';

it('keeps that a job expired for all minions, once however often it is reported', async () => {
  const append = vi.fn(() => Promise.resolve({ seq: 1, duplicate: false }));
  const onTrouble = vi.fn();
  expiredReporter({ append }, onTrouble)('j');
  await until('the event is appended', () => expect(append).toHaveBeenCalledOnce());
  const [event] = append.mock.calls[0] as unknown as [{ body: Uint8Array; msgId: string }];
  const told = unpackMap(event.body);
  expect([textOf(told, 'jid'), listOf(told, 'ids'), textOf(told, 'kind')]).toEqual([
    'j',
    [''],
    'expired',
  ]);
  expect(event.msgId).toBe('expired:j');
  expect(onTrouble).not.toHaveBeenCalled();
});

it('reports trouble once until it goes well again, and limits what is under way', async () => {
  const append = vi.fn(() => Promise.reject(new Error('away')));
  const onTrouble = vi.fn();
  const report = expiredReporter({ append }, onTrouble);
  for (let count = 0; count < 300; count += 1) report(`j${count}`);
  expect(append).toHaveBeenCalledTimes(256);
  await until('the trouble is reported', () => expect(onTrouble).toHaveBeenCalledOnce());
  await new Promise((resolve) => setImmediate(resolve));
  report('later');
  expect(append).toHaveBeenCalledTimes(257);
  expect(onTrouble).toHaveBeenCalledOnce();
});
