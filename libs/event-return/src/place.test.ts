import { pack, type SaltMap, unpack } from '@brine/wire';
import { expect, test } from 'vitest';
import { MemoryRecord } from '../test/memory-record.ts';
import { Place, placeIn, placeMap } from './place.ts';

const HOUR_MS = 3_600_000;

/** As a process that had written up to `p1` when NATS went away. */
async function unsaved(record: MemoryRecord): Promise<Place> {
  const place = new Place(record.take(), () => 0, undefined);
  await place.save({ position: 'p0', note: { size: 1 } });
  record.isAway = true;
  const saved = place.save({ position: 'p1', note: { size: 2 } });
  await expect(saved).rejects.toThrow('NATS is unreachable');
  record.isAway = false;
  return place;
}

test('a place comes back as it was', () => {
  for (const place of [{}, { position: '1-2_00000000', note: { size: 1 } }, { position: 'p' }]) {
    expect(placeIn(unpack(pack(placeMap(place))) as SaltMap)).toEqual(place);
  }
});

test('a position is saved, and the note of before stays', async () => {
  const record = new MemoryRecord();
  const place = new Place(record.take(), () => 0, undefined);
  await place.save({ position: 'p0', note: { size: 7 } });
  await place.save({ position: 'p1' });
  expect(record.place).toEqual({ position: 'p1', note: { size: 7 } });
  expect(place.saved).toEqual(record.place);
});

test('a process that has lost the right may write no more', async () => {
  const record = new MemoryRecord();
  const place = new Place(record.take(), () => 0, undefined);
  await place.check();
  record.take();
  await expect(place.check()).rejects.toMatchObject({ failure: 'moved' });
  await expect(place.save({ position: 'p9' })).rejects.toThrow('released');
});

test('what was written and not saved is saved by the next check', async () => {
  const record = new MemoryRecord();
  const before = await unsaved(record);
  await new Place(record.take(), () => 0, before).check();
  expect(record.place).toEqual({ position: 'p1', note: { size: 2 } });
});

test('what was written and not saved is forgotten once another process saved a place', async () => {
  const record = new MemoryRecord();
  const before = await unsaved(record);
  await new Place(record.take(), () => 0, undefined).save({ position: 'p5' });
  await new Place(record.take(), () => 0, before).check();
  expect(record.place).toMatchObject({ position: 'p5' });
});

test('a place that does not move is saved each hour', async () => {
  const record = new MemoryRecord();
  let nowMs = 0;
  const place = new Place(record.take(), () => nowMs, undefined);
  await place.check();
  nowMs = HOUR_MS - 1;
  await place.check();
  expect(record.saves).toBe(1);
  nowMs = HOUR_MS;
  await place.check();
  expect(record.saves).toBe(2);
});
