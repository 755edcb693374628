import { onPresence, publishPresence } from '@brine/bus/rpc';
import { claimIn, type PublisherReport, readReport } from '@brine/presence';
import { startNats, type TestNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import type { PublishPeer } from '@brine/zmq';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ConnectionReporter } from './connection-reporter.ts';

let nats: TestNats;
const words: PublisherReport[] = [];

beforeAll(async () => {
  nats = await startNats();
  const owner = await nats.connect('runner-pool');
  onPresence(
    owner,
    'told',
    (data) => {
      const report = readReport(data);
      if (report !== undefined) words.push(report);
    },
    () => undefined,
  );
  await owner.flush();
});

afterAll(() => nats.close());

function peerAt(address: string, ...topics: string[]) {
  return { address, port: 1, topics: new Set(topics) } satisfies PublishPeer;
}

/** The connections by place that all reports give together. */
function reported(): Record<string, number> {
  const counts = new Map<string, number>();
  for (const report of words) {
    if (report.kind === 'bye') continue;
    if (report.kind === 'whole' && report.part === 0) counts.clear();
    for (const [place, count] of report.places) counts.set(place, count);
  }
  return Object.fromEntries([...counts].filter(([, count]) => count > 0));
}

test('connections are reported as they come and go, and all when the owner asks', async () => {
  const bus = await nats.connect('publisher');
  const onTrouble = (what: string): never => {
    throw new Error(what);
  };
  const teller = new ConnectionReporter({ bus, host: 'a', by: 'p1', onTrouble });
  const hooks = teller.hooks(() => undefined);
  teller.start();
  await until('the empty list is reported', () => words.some(({ kind }) => kind === 'whole'));
  const first = peerAt('::ffff:10.0.0.1');
  const second = peerAt('10.0.0.1');
  hooks.onConnect(first);
  hooks.onConnect(second);
  await until('both are reported', () => expect(reported()).toEqual({ '10.0.0.1': 2 }));
  hooks.onDisconnect(first);
  hooks.onDisconnect(first);
  await until('the end of one is reported', () => expect(reported()).toEqual({ '10.0.0.1': 1 }));
  const claim = 'a'.repeat(40);
  expect(claimIn([claim])).toBe(claim);
  second.topics.add(claim);
  hooks.onTopics(second);
  await until('its claim is reported', () =>
    expect(reported()).toEqual({ [`10.0.0.1/${claim}`]: 1 }),
  );
  words.length = 0;
  publishPresence(await nats.connect('runner-pool'), 'hello', Buffer.alloc(0));
  await until('all of it is reported', () => {
    expect(words.some(({ kind }) => kind === 'whole')).toBe(true);
    expect(reported()).toEqual({ [`10.0.0.1/${claim}`]: 1 });
    return true;
  });
  words.length = 0;
  await until('a beat is sent', () => words.some(({ kind }) => kind === 'changes'));
  const numbers = words.map(({ n }) => n);
  expect(numbers).toEqual(numbers.map((_, at) => (numbers[0] ?? 0) + at));
  teller.close();
  await until('its end is reported', () => words.at(-1)?.kind === 'bye');
});
