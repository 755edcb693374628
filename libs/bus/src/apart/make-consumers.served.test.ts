import type { TestNats } from '@brine/testing';
import { startNats } from '@brine/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import { askJetStream } from '../connection/js-api.ts';
import { Bucket } from '../kv/bucket.ts';
import { escapeKey } from '../subjects/escape.ts';
import { CONSUMERS_ROOT } from '../subjects/names.ts';

let nats: TestNats;
let store: Bus;
beforeAll(async () => {
  nats = await startNats();
  store = await nats.connect('job-cache-returner');
}, 600_000);
afterAll(() => nats.close());

const plain = { ack_policy: 'none', deliver_policy: 'all', mem_storage: true, num_replicas: 1 };
const kept = { name: 'store', durable_name: 'store', ack_policy: 'explicit' };

const make = (name: string, config: object, more: object = {}) =>
  askJetStream(store, `CONSUMER.CREATE.EVENTS.${name}`, { stream_name: 'EVENTS', config, ...more });

test('a consumer of one reader and the own durable one are made', async () => {
  expect(await make('rabc1', { ...plain, name: 'rabc1' })).toMatchObject({ ok: true });
  expect(await make('store', kept)).toMatchObject({ ok: true });
});

test.each([
  ['a subject to send to', { ...plain, name: 'rx', deliver_subject: '$KV.brine_keys.web1' }, {}],
  ['it in another spelling', { ...plain, name: 'rx', dELIVER_sUBJECT: '$KV.brine_keys.web1' }, {}],
  ['a field that is not known', { ...plain, name: 'rx', deliver_group: 'g' }, {}],
  ['another stream', { ...plain, name: 'rx' }, { stream_name: 'KV_brine_keys' }],
  ['another name than its subject says', { ...plain, name: 'ry' }, {}],
  ['more than a consumer', { ...plain, name: 'rx' }, { config2: {} }],
  ['two names', { ...plain, name: 'rx', durable_name: 'store' }, {}],
])('%s is refused', async (_, config, more) => {
  expect(await make('rx', config, more)).toMatchObject({ ok: false });
});

test.each(['reactor', 'syndic-a', 'host-a', 'returns-a', 'Rx', 'r-x'])(
  'the name %s is of others',
  async (name) => {
    expect(await make(name, { ...plain, name })).toMatchObject({ ok: false });
    expect(await make(name, { ...kept, name, durable_name: name })).toMatchObject({ ok: false });
  },
);

test('what is no request, or a long one, is refused', async () => {
  for (const value of ['x', [], { stream_name: 'EVENTS', config: 'x'.repeat(20_000) }]) {
    expect(await askJetStream(store, 'CONSUMER.CREATE.EVENTS.rx', value)).toMatchObject({
      ok: false,
    });
  }
});

test('a consumer that is there is not changed', async () => {
  await make('store', kept);
  expect(await make('store', { ...kept, max_ack_pending: 7 })).toMatchObject({ ok: false });
  expect(await make('store', kept, { action: 'update' })).toMatchObject({ ok: true });
});

test('an asker in the account of the streams is not answered where it says', async () => {
  const admin = await nats.connect('admin');
  const keys = new Bucket(admin, 'brine_keys');
  const subject = `${CONSUMERS_ROOT}.job-cache-returner.EVENTS.rin`;
  const body = JSON.stringify({ stream_name: 'EVENTS', config: { ...plain, name: 'rin' } });
  admin.connection.publish(subject, body, { reply: '$KV.brine_keys.web1' });
  await admin.flush();
  // What comes after it, in the order of the server.
  expect(await make('rlast', { ...plain, name: 'rlast' })).toMatchObject({ ok: true });
  expect(await keys.get(escapeKey('web1'))).toBeUndefined();
  expect(await askJetStream(admin, 'CONSUMER.INFO.EVENTS.rin', '')).toMatchObject({ ok: false });
});
