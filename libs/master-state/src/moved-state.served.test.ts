import { Bucket, escapeKey } from '@brine/bus';
import { PrivateKey, SecretBox } from '@brine/crypt';
import { startNats, vectorFile } from '@brine/testing';
import { mapOf } from '@brine/wire';
import { expect, it } from 'vitest';
import { type MovedBank, MovedState } from './moved-state.ts';
import { openHotState } from './open-hot-state.ts';
import { BucketTokens } from './tokens.ts';

const { pem } = vectorFile<{ readonly master_key: { readonly pem: string } }>(
  'auth.json',
).master_key;
const KEY = `${'k'.repeat(75)}=`;
const AT = Date.UTC(2026, 10, 25);
const GRAINS = mapOf({ os: 'Debian' });

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of source) found.push(one);
  return found;
}

it('what moves in is what workers read, and only what is newer comes again', async () => {
  await using nats = await startNats();
  const bus = await nats.connect('event-bus');
  const moved = new MovedState(bus, PrivateKey.parse(pem));
  const grains: MovedBank = { bank: 'grains', id: 'web-1', data: GRAINS, timeMs: AT };
  const pillar: MovedBank = { ...grains, bank: 'pillar', data: mapOf({ role: 'web' }) };
  const mine: MovedBank = { ...grains, bank: 'mine', data: mapOf({ 'test.ping': true }) };
  const inDev = { ...pillar, env: 'dev' };
  for (const one of [grains, pillar, inDev, mine]) expect(await moved.takeBank(one)).toBe(true);
  for (const one of [grains, pillar, inDev, mine]) expect(await moved.takeBank(one)).toBe(false);
  await moved.done();

  const state = await openHotState(await nats.connect('worker-pool'), pem, 86_400);
  expect(await state.minionData.fetch('web-1')).toEqual({ grains: GRAINS, updatedAt: AT });
  expect((await state.pillars.fetch('web-1', 'dev'))?.pillar).toEqual(inDev.data);
  expect(await state.mines.fetch('web-1')).toEqual(mine.data);

  // The minion told this master something since: an older file must not take its place.
  await state.minionData.storeGrains('web-1', mapOf({ os: 'Fedora' }));
  expect(await moved.takeBank({ ...grains, timeMs: AT + 1 })).toBe(false);
  expect(await moved.takeBank({ ...grains, timeMs: Date.now() + 60_000 })).toBe(true);
  state.close();

  const back = await all(moved.banks());
  expect(back.map(({ bank, id, env }) => [bank, id, env])).toEqual([
    ['grains', 'web-1', undefined],
    ['pillar', 'web-1', undefined],
    ['pillar', 'web-1', 'dev'],
    ['mine', 'web-1', undefined],
  ]);
});

it('tokens move both ways, and one that was taken back does not come again', async () => {
  await using nats = await startNats();
  const bus = await nats.connect('event-bus');
  const moved = new MovedState(bus, PrivateKey.parse(pem));
  const record = { start: 1, expire: AT / 1_000 + 60, name: 'fred', eauth: 'pam' };
  expect(await moved.takeToken('abc', record)).toBe(true);
  expect(await moved.takeToken('abc', record)).toBe(false);

  const box = SecretBox.fromMasterKey(pem, 'token');
  const worker = new BucketTokens(new Bucket(bus, 'brine_tokens'), box);
  expect(await worker.find('abc')).toEqual(record);
  await worker.keep('own', { ...record, authList: ['test.*'] });
  const { tokens, nameless } = await moved.tokens(AT);
  expect([...tokens.keys()]).toEqual(['abc', 'own']);
  expect(nameless).toBe(0);
  expect((await moved.tokens(AT + 3_600_000)).tokens.size).toBe(0);

  await worker.forget('abc');
  expect(await moved.takeToken('abc', record)).toBe(false);
  expect(await worker.find('abc')).toBeUndefined();
});

it('a session key that moved in opens what its minion sends', async () => {
  await using nats = await startNats();
  const bus = await nats.connect('event-bus');
  const moved = new MovedState(bus, PrivateKey.parse(pem));
  const madeMs = Date.now() - 1_000.5;
  expect(await moved.takeSession('web-1', KEY, madeMs)).toBe(true);
  expect(await moved.takeSession('web-1', KEY, madeMs)).toBe(false);
  const state = await openHotState(await nats.connect('worker-pool'), pem, 86_400);
  expect(await state.sessions.fetch('web-1')).toHaveLength(1);
  state.close();
  const [session] = await all(moved.sessions());
  expect(session).toEqual({ id: 'web-1', key: KEY, timeMs: Math.floor(madeMs) });
});

it('users’ keys are taken for a host that has none', async () => {
  await using nats = await startNats();
  const bus = await nats.connect('event-bus');
  const moved = new MovedState(bus, PrivateKey.parse(pem));
  expect(await moved.takeUserKeys('host-1', {})).toBe(false);
  expect(await moved.takeUserKeys('host-1', { root: KEY })).toBe(true);
  expect(await moved.takeUserKeys('host-1', { root: 'another' })).toBe(false);
  const entry = await new Bucket(bus, 'brine_secrets').get(escapeKey('userkeys', 'host-1'));
  const box = SecretBox.fromMasterKey(pem, 'userkeys');
  expect(JSON.parse(box.open(entry?.value ?? new Uint8Array()).toString())).toEqual({ root: KEY });
});
