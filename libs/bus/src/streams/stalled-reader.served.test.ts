import { startNats, type TestNats } from '@brine/testing';
import { growsOld, until } from '@brine/testing/waits';
import { mapOf, pack } from '@brine/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EventReader } from '../events/event-reader.ts';
import { EventWriter } from '../events/event-writer.ts';

const EVENTS = 40;
const FORGET_MS = 3_000;

let nats: TestNats;

beforeAll(async () => {
  nats = await startNats();
}, 600_000);
afterAll(() => nats.close());

test('the place of a durable reader that takes nothing for long is kept', async () => {
  const [bus, writing] = await Promise.all([
    nats.connect('worker-pool'),
    nats.connect('worker-pool'),
  ]);
  const place = {
    durable: 'stalled',
    from: 'new',
    ackWaitMs: 1_000,
    forgetAfterMs: FORGET_MS,
    readAhead: 8,
  } as const;
  const reader = new EventReader(bus, { ...place, kinds: ['local'] });
  await until('the reader reads', () => reader.reading);
  const writer = new EventWriter(writing);
  const body = pack(mapOf({}));
  const tags = Array.from({ length: EVENTS }, (_, n) => `stalled/${n}`);
  for (const tag of tags) await writer.append({ kind: 'local', tag, body });
  await growsOld('a stall, which the server would take for an end', 4 * FORGET_MS);
  const seen = new Set<string>();
  const taking = (async () => {
    for await (const batch of reader.batches(8)) {
      for (const event of batch) {
        seen.add(event.tag);
        event.ack();
      }
    }
  })();
  await until('it has every event', () => seen.size >= EVENTS);
  expect([...seen].sort()).toEqual([...tags].sort());
  reader.close();
  await taking;
});
