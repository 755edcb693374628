import type { Bucket, BucketEntry } from '@brine/bus';
import { NOT_SEALED, RunOffers } from '@brine/cluster-work';
import { placeMap } from '@brine/event-return';
import { mapOf } from '@brine/wire';
import { expect, test } from 'vitest';
import { neededEvents } from './needed-events.ts';

const HOUR_MS = 3_600_000;
const NOW = 100 * HOUR_MS;

/** The record of a returner as its task has it. */
async function record(position: string | undefined, timeMs: number): Promise<BucketEntry> {
  const entries: BucketEntry[] = [];
  const create: Bucket['create'] = async (key, value) =>
    entries.push({ key, value, revision: 1, timeMs });
  const data = placeMap(position === undefined ? {} : { position });
  const offers = new RunOffers({ create } as Bucket, NOT_SEALED);
  await offers.offer('event_return:http', 'http', { data, call: mapOf({}) });
  return entries[0]!;
}

test('positions are needed while their process renews them, and a day longer', async () => {
  const entries = [
    await record('1-1_00000000', NOW),
    await record('2-2_00000000', NOW - 23 * HOUR_MS),
    await record('3-3_00000000', NOW - 25 * HOUR_MS),
    await record(undefined, NOW),
  ];
  expect(await neededEvents(entries, NOW)).toEqual(['1-1_00000000', '2-2_00000000']);
});
