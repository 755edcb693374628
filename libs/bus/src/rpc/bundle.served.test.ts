import { startNats, type TestNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import { REPLY_INBOX } from '../subjects/names.ts';
import { Bundler, unbundle } from './bundle.ts';

let nats: TestNats;
let worker: Bus;
let gateway: Bus;

beforeAll(async () => {
  nats = await startNats({ streams: false });
  worker = await nats.connect('worker-pool');
  gateway = await nats.connect('req-gateway');
});

afterAll(() => nats.close());

/** The messages that come of what is said, two at least; each as the slots in it. */
async function heardOf(say: (bundler: Bundler, subject: string) => void): Promise<string[][]> {
  const heard: string[][] = [];
  const subject = `${REPLY_INBOX}.g1.all`;
  const subscription = gateway.connection.subscribe(subject, {
    callback: (_error, msg) => void heard.push((unbundle(msg.data) ?? []).map(textOf)),
  });
  await gateway.flush();
  say(new Bundler(worker), subject);
  await until('more than one bundle is heard', () => expect(heard.length).toBeGreaterThan(1));
  await worker.flush();
  await gateway.flush();
  subscription.unsubscribe();
  return heard;
}

const textOf = ({ slot, bytes }: { slot: string; bytes: Buffer }): string =>
  `${slot}:${bytes.length > 9 ? bytes.length : bytes.toString()}`;

test('messages of one turn to one receiver go out as one message', async () => {
  const heard = await heardOf((bundler, subject) => {
    for (const slot of ['a', 'b', 'c']) bundler.add(subject, slot, Buffer.from(`w${slot}`));
    setTimeout(() => bundler.add(subject, 'd', Buffer.alloc(0)), 20);
  });
  expect(heard).toEqual([['a:wa', 'b:wb', 'c:wc'], ['d:']]);
});

test('a bundle is sent before it grows too large', async () => {
  const heard = await heardOf((bundler, subject) => {
    for (const slot of ['a', 'b', 'c']) bundler.add(subject, slot, Buffer.alloc(200_000));
  });
  expect(heard).toEqual([['a:200000', 'b:200000'], ['c:200000']]);
});

test('no bytes make the reading of a bundle throw, and a bundle cut short is none', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      unbundle(bytes);
    }),
  );
  const whole = Buffer.from([1, 0, 0, 0, 2, 0x61, 7, 8]);
  expect(unbundle(whole)?.map(({ slot }) => slot)).toEqual(['a']);
  for (let end = 1; end < whole.length; end++) {
    expect(unbundle(whole.subarray(0, end))).toBeUndefined();
  }
});
