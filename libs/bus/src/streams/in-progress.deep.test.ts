import { startNats, type TestNats } from '@brine/testing';
import { growsOld, until, workTakes } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import type { EventMessage } from '../events/event-reader.ts';
import { EventReader } from '../events/event-reader.ts';
import { EventWriter } from '../events/event-writer.ts';

const ACK_WAIT_MS = 600;

let nats: TestNats;
let writer: EventWriter;
let buses: Bus[];

beforeAll(async () => {
  nats = await startNats();
  writer = new EventWriter(await nats.connect('worker-pool'));
  buses = [await nats.connect('syndic-relay'), await nats.connect('syndic-relay')];
}, 600_000);

afterAll(() => nats.close());

/** Two readers of one place; what the second is given goes to `taken`. */
async function readers(name: string, extendsAckWait: boolean, ackWaitMs = ACK_WAIT_MS) {
  const durable = `syndic-${name}`;
  const place = { durable, from: 'new', kinds: ['ret'], ackWaitMs, extendsAckWait } as const;
  const [first, second] = buses.map((bus) => new EventReader(bus, place)) as [
    EventReader,
    EventReader,
  ];
  const taken: EventMessage[] = [];
  await expect.poll(() => first.reading && second.reading).toBe(true);
  const gather = (async () => {
    for await (const event of second) {
      taken.push(event);
      event.ack();
    }
  })();
  return {
    first,
    taken,
    close: async (): Promise<void> => {
      first.close();
      second.close();
      await gather;
    },
  };
}

const append = async (names: readonly string[]): Promise<void> => {
  for (const name of names) {
    const tag = `salt/job/20261122000000000000/ret/${name}`;
    await writer.append({ kind: 'ret', tag, body: Buffer.from([0x80]), msgId: name });
  }
};

/** Events until the first reader has one in its hands. */
async function heldBy(first: EventReader, prefix: string): Promise<EventMessage> {
  let held: EventMessage | undefined;
  void first[Symbol.asyncIterator]()
    .next()
    .then(({ value }) => (held = value as EventMessage));
  let n = 0;
  return until('the first reader has an event', async () => {
    await append([`${prefix}-${n++}`]);
    return held;
  });
}

/** Appends events until one of them has been taken: what had to come before it has come. */
async function laterOf(taken: readonly EventMessage[], prefix: string): Promise<void> {
  const before = taken.length;
  let n = 0;
  await until('a later event is taken', async () => {
    await append([`${prefix}-${n++}`]);
    return taken.length > before;
  });
}

test('a message that a reader works on goes to no other of its name', async () => {
  // A pause of the machine of a second is no silence.
  const ackWaitMs = 2_000;
  const { first, taken, close } = await readers('syndic-held', true, ackWaitMs);
  const held = await heldBy(first, 'held');
  await workTakes(1.5 * ackWaitMs);
  await laterOf(taken, 'held-while');
  expect(taken.map(({ seq }) => seq)).not.toContain(held.seq);
  held.ack();
  await growsOld('the acknowledged message', 1.2 * ackWaitMs);
  await laterOf(taken, 'held-after');
  expect(taken.map(({ seq }) => seq)).not.toContain(held.seq);
  await close();
});

test('a message that a reader is silent about goes to another', async () => {
  const { first, taken, close } = await readers('syndic-silent', false);
  const silent = await heldBy(first, 'silent');
  await expect.poll(() => taken.map(({ seq }) => seq)).toContain(silent.seq);
  await close();
});

test('a message that a reader worked on at its end goes to another', async () => {
  const { first, taken, close } = await readers('syndic-ended', true);
  const left = await heldBy(first, 'ended');
  first.close();
  await expect.poll(() => taken.map(({ seq }) => seq)).toContain(left.seq);
  await close();
});
