import { startNats, type TestNats } from '@brine/testing';
import type { Msg } from '@nats-io/nats-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { REPLY_INBOX } from '../subjects/names.ts';
import type { Bus } from './connect.ts';
import { headersOf, writeHeaders } from './headers.ts';

let nats: TestNats;
let worker: Bus;
let gateway: Bus;

beforeAll(async () => {
  nats = await startNats();
  worker = await nats.connect('worker-pool');
  gateway = await nats.connect('req-gateway');
});

afterAll(async () => {
  await worker.close();
  await gateway.close();
  await nats[Symbol.asyncDispose]();
});

async function sent(headers: ReturnType<typeof writeHeaders> | undefined): Promise<Msg> {
  const subject = `${REPLY_INBOX}.g1.1`;
  const subscription = gateway.connection.subscribe(subject, { max: 1 });
  await gateway.flush();
  const data = Buffer.from('Brine-Tag: not a header');
  worker.connection.publish(subject, data, headers === undefined ? {} : { headers });
  for await (const msg of subscription) return msg;
  throw new Error('nothing came');
}

test('headers that are written here are read here, and by the client itself', async () => {
  const lines = [
    ['Brine-Tag', 'salt/job/20261120171037000001/ret/web1:%20'],
    ['Brine-Jid', ''],
    ['Brine-Minion', 'a: b  c'],
  ] as const;
  const msg = await sent(writeHeaders(lines));
  const read = headersOf(msg);
  for (const [name, value] of lines) {
    expect(read(name)).toBe(value);
    expect(msg.headers?.get(name)).toBe(value);
  }
  expect(read('Brine-Ta')).toBe('');
  expect(read('brine-tag')).toBe('');
  expect(Buffer.from(msg.data).toString()).toBe('Brine-Tag: not a header');
});

test('a message without headers has none', async () => {
  expect(headersOf(await sent(undefined))('Brine-Tag')).toBe('');
});

test('a value can not smuggle in another header', () => {
  expect(() => writeHeaders([['Brine-Tag', 'x\r\nBrine-Jid: 1']])).toThrow('a line end');
});
