import { LIMITS } from '@brine/bus/share';
import { MasterUnavailableError, type SharingPeer } from '@brine/master';
import { Metrics } from '@brine/service';
import { expect, test } from 'vitest';
import { StoredShares } from './stored-shares.ts';

test('one that has had its share is refused before anything is done, and named once', async () => {
  const told: string[] = [];
  const metrics = new Metrics();
  const shares = new StoredShares(metrics, (text) => told.push(text));
  let stored = 0;
  const store = (
    id: string,
    bytes: number,
    kind: SharingPeer['kind'] = 'minion',
  ): Promise<number> => shares.run({ kind, id }, bytes, () => Promise.resolve((stored += 1)));
  await store('a', 2 * LIMITS.stored.minion.budget.bytesAtOnce);
  for (let n = 0; n < 3; n += 1) {
    const refused = store('a', 1_000_000).catch((error: unknown) => error);
    expect(await refused).toBeInstanceOf(MasterUnavailableError);
  }
  await store('b', 1);
  await store('a', 1, 'syndic');
  await store('a', 1, 'engine');
  expect(stored).toBe(4);
  expect(told).toEqual([
    'minion a has had its share of the stream of events: what it sends has to wait',
  ]);
  expect(await metrics.text()).toContain('brine_shares_refused_total{of="minion"} 3');
});
