import type { TestNats } from '@brine/testing';
import { startNats } from '@brine/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import { publish } from '../connection/inbox.ts';
import { ensureStreams } from '../streams/ensure-streams.ts';
import { jetStreamFacts } from '../streams/jetstream-facts.ts';
import { BUCKETS, type ServiceName, STREAMS, subjects } from '../subjects/names.ts';
import { answerRoll } from './roll-answer.ts';
import { callRoll, rollKey } from './roll-call.ts';

const SERVICES: readonly ServiceName[] = [
  ...(['req-gateway', 'worker-pool', 'publisher', 'event-bus'] as const),
  ...(['job-cache-returner', 'syndic-relay'] as const),
];

describe.each([
  ['a password', false],
  ['a certificate', true],
])('known by %s', (_, certificates) => {
  let nats: TestNats;
  let buses: Bus[] = [];

  beforeAll(async () => {
    nats = await startNats({ certificates });
  }, 600_000);
  afterAll(() => nats.close());
  beforeEach(() => {
    buses = [];
  });
  afterEach(() => Promise.all(buses.map((bus) => bus.close())));

  const connect = async (name: ServiceName): Promise<Bus> => {
    const bus = await nats.connect(name);
    buses.push(bus);
    return bus;
  };

  test('every service tells of itself, each as NATS knows it', async () => {
    for (const name of SERVICES) {
      const bus = await connect(name);
      // What it says of its name does not count.
      answerRoll(bus, () => ({ service: 'admin', name, nowMs: Date.now(), status: { n: 1 } }));
      await bus.flush();
    }
    for (const asker of ['worker-pool', 'admin'] as const) {
      const { services, leftOut } = await callRoll(await connect(asker));
      expect(services.map(({ service }) => service).sort()).toEqual([...SERVICES].sort());
      expect(leftOut).toBe(0);
      for (const { service, facts, aheadMs, withinMs } of services) {
        expect(facts).toMatchObject({ name: service, status: { n: 1 } });
        // One host, one clock.
        expect(Math.abs(aheadMs ?? Infinity)).toBeLessThanOrEqual(withinMs + 2);
      }
    }
  });

  test('a service can not tell for another, and only workers may call', async () => {
    const gateway = await connect('req-gateway');
    const worker = await connect('worker-pool');
    answerRoll(worker, () => ({ name: 'true', status: {} }));
    await worker.flush();
    const calling = callRoll(await connect('admin'));
    publish(gateway.connection, subjects.told('worker-pool'), '{"call":"x","facts":{}}');
    const { services } = await calling;
    expect(services.map(({ facts }) => facts['name'])).toEqual(['true']);
    await expect(callRoll(gateway)).rejects.toMatchObject({ code: 'BUS_FORBIDDEN' });
  });

  test('a clock that is ahead is known, and what is no answer is passed over', async () => {
    const bus = await connect('publisher');
    answerRoll(bus, () => ({ name: 'p', nowMs: Date.now() + 5_000, status: {} }));
    const odd = await connect('event-bus');
    odd.connection.subscribe(subjects.roll, {
      callback: () => {
        for (const text of ['{', '{"call":"other","facts":{}}', '[]', 'x'.repeat(200_000)]) {
          publish(odd.connection, subjects.told('event-bus'), text);
        }
      },
    });
    await Promise.all([bus.flush(), odd.flush()]);
    const { services } = await callRoll(await connect('admin'));
    expect(services).toHaveLength(1);
    expect(services[0]?.aheadMs).toBeGreaterThan(4_000);
  });

  test('where all that are known have answered, the call does not wait for more', async () => {
    const bus = await connect('publisher');
    answerRoll(bus, () => ({ machine: 'm', pid: 7, status: {} }));
    await bus.flush();
    const admin = await connect('admin');
    const first = await callRoll(admin, { quietMs: 500 });
    const known = new Set(first.services.map(rollKey));
    expect(known.size).toBe(1);
    // If it waited for more, it would end after this test.
    const forever = { quietMs: 600_000, mostMs: 600_000 };
    await callRoll(admin, { ...forever, knownMs: 10, known });
    // One that was there and does not answer is waited for.
    const startedMs = performance.now();
    await callRoll(admin, { quietMs: 1_500, knownMs: 10, known: new Set([...known, 'gone']) });
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(1_490);
  });

  test('without services the call ends after its quiet time', async () => {
    const admin = await connect('admin');
    const startedMs = performance.now();
    const times = { quietMs: 200, mostMs: 600_000 };
    expect(await callRoll(admin, times)).toEqual({ services: [], leftOut: 0 });
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(190);
  });

  test('JetStream tells of streams, readers and room to those that may ask', async () => {
    const owner = await connect('event-bus');
    await ensureStreams(owner, {});
    for (const asker of [owner, await connect('admin')]) {
      const facts = await jetStreamFacts(asker);
      const names = facts.streams.map(({ config }) => (config as { name: string }).name);
      expect(names).toEqual(
        expect.arrayContaining([...Object.values(STREAMS), ...BUCKETS.map((name) => `KV_${name}`)]),
      );
      expect(facts.account).toHaveProperty('limits');
      expect(Object.keys(facts.readers)).toEqual(['EVENTS', 'PUBLICATIONS', 'REACTIONS', 'DUE']);
      expect(facts.unknown).toEqual({});
    }
    const refused = await jetStreamFacts(await connect('publisher'));
    expect(Object.keys(refused.unknown)).toContain('STREAM.LIST');
  });
});
