import { Bucket, escapeKey } from '@brine/bus';
import { startNats, vectorFile } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapOf } from '@brine/wire';
import { expect, it } from 'vitest';
import { openHotState } from '../open-hot-state.ts';
import { forgetMinion } from './forget-minion.ts';
import { BucketBanks } from './minion-banks.ts';

const { pem } = vectorFile<{ readonly master_key: { readonly pem: string } }>(
  'auth.json',
).master_key;

const GRAINS = mapOf({ os: 'Debian' });
const PILLAR = mapOf({ secret: 'x' });

/** Two workers with the hot state of one master. */
async function twoWorkers(bus: Parameters<typeof openHotState>[0]) {
  const open = async () => {
    const state = await openHotState(bus, pem, 86_400);
    const banks = new BucketBanks({ ...state, pillarEnvs: ['dev'], now: () => Date.now() });
    return { ...state, banks };
  };
  const [one, other] = [await open(), await open()];
  const close = (): void => {
    one.close();
    other.close();
  };
  return { one, other, [Symbol.dispose]: close };
}

it('banks are listed, read and emptied, pillars of all environments', async () => {
  await using nats = await startNats();
  using workers = await twoWorkers(await nats.connect('worker-pool'));
  const { one, other } = workers;
  await one.minionData.storeGrains('web1.example', GRAINS);
  await one.pillars.keep('web1.example', null, PILLAR, false);
  await one.pillars.keep('web1.example', 'dev', PILLAR, false);
  await one.mines.change('Web2', () => mapOf({ 'test.ping': true }));
  await one.mines.change('web3', () => mapOf({ 'test.ping': true }));
  await one.mines.change('web3', () => undefined);

  expect(await other.banks.ids('grains')).toEqual(['web1.example']);
  expect(await other.banks.ids('pillar')).toEqual(['web1.example']);
  expect(await other.banks.ids('mine')).toEqual(['Web2']);
  expect(await other.banks.fetch('grains', 'web1.example')).toEqual(GRAINS);
  expect(await other.banks.fetch('pillar', 'web1.example', 'dev')).toEqual(PILLAR);
  expect(await other.banks.fetch('mine', 'nobody')).toBeUndefined();

  const ids = ['web1.example', 'Web2', 'nobody'];
  expect(await other.banks.drop('grains', ids)).toEqual(['web1.example']);
  expect(await other.banks.drop('pillar', ids)).toEqual(['web1.example']);
  expect(await other.banks.drop('mine', ids)).toEqual(['Web2']);
  expect(await other.banks.drop('grains', ids)).toEqual([]);
  expect(await one.banks.fetch('pillar', 'web1.example', 'dev')).toBeUndefined();
  for (const bank of ['grains', 'pillar', 'mine'] as const) {
    expect(await one.banks.ids(bank)).toEqual([]);
  }
});

it('a minion that is deleted leaves nothing, and may come again', async () => {
  await using nats = await startNats();
  const bus = await nats.connect('worker-pool');
  using workers = await twoWorkers(bus);
  const { one, other } = workers;
  await one.minionData.storeGrains('web1', GRAINS);
  await one.mines.change('web1', () => mapOf({ 'test.ping': true }));
  await forgetMinion(bus, 'web1', { data: false });
  expect(await other.banks.ids('mine')).toEqual(['web1']);
  await forgetMinion(bus, 'web1', { data: true });
  expect(await other.banks.ids('grains')).toEqual([]);
  expect(await other.banks.ids('mine')).toEqual([]);
  expect(await other.banks.fetch('mine', 'web1')).toBeUndefined();
  expect(await other.mines.kept('web1')).toBeUndefined();
  await other.mines.change('web1', () => mapOf({ 'test.ping': false }));
  const kept = await one.mines.kept('web1');
  expect(kept?.data).toEqual(mapOf({ 'test.ping': false }));
  expect(kept?.atMs).toBeGreaterThan(0);
  expect(await one.banks.fetch('mine', 'web1')).toEqual(mapOf({ 'test.ping': false }));
});

it('what one worker emptied is written again by another one that wrote it before', async () => {
  await using nats = await startNats();
  using workers = await twoWorkers(await nats.connect('worker-pool'));
  const { one, other } = workers;
  await one.minionData.storeGrains('web1', GRAINS);
  await one.pillars.keep('web1', null, PILLAR, false);
  await other.banks.drop('grains', ['web1']);
  await other.banks.drop('pillar', ['web1']);
  await until('the grains are kept again', async () => {
    await one.minionData.storeGrains('web1', GRAINS);
    return (await other.banks.fetch('grains', 'web1')) !== undefined;
  });
  await until('the pillar is kept again', async () => {
    await one.pillars.keep('web1', null, PILLAR, false);
    return (await other.banks.fetch('pillar', 'web1')) !== undefined;
  });
});

it('data of a key that one worker deleted is written again by another one', async () => {
  await using nats = await startNats();
  const bus = await nats.connect('worker-pool');
  using workers = await twoWorkers(bus);
  const { one, other } = workers;
  const accepted = { state: 'accepted', pub: 'A', denied: [] } as const;
  await other.keys.store('web1', accepted, undefined);
  await one.minionData.storeGrains('web1', GRAINS);
  const stored = await other.keys.fetch('web1');
  await other.keys.store('web1', { ...accepted, state: 'deleted' }, stored);
  await other.keys.forget('web1', { data: true });
  const record = await new Bucket(bus, 'brine_minions').get(escapeKey('web1'));
  expect(record?.value).toHaveLength(0);
  await until('the grains of the next minion of this id are kept', async () => {
    await one.minionData.storeGrains('web1', GRAINS);
    return (await other.banks.fetch('grains', 'web1')) !== undefined;
  });
});

it('a bank takes data in the place of what a minion sent', async () => {
  await using nats = await startNats();
  using workers = await twoWorkers(await nats.connect('worker-pool'));
  const { one, other } = workers;
  await one.minionData.storeGrains('web1', GRAINS);
  for (const bank of ['grains', 'pillar', 'mine'] as const) {
    await other.banks.store(bank, 'web1', mapOf({ by: 'hand' }));
    expect(await one.banks.fetch(bank, 'web1')).toEqual(mapOf({ by: 'hand' }));
  }
  const huge = mapOf({ huge: 'x'.repeat(5 * 1024 * 1024) });
  await expect(one.banks.store('mine', 'web1', huge)).rejects.toThrow('too large');
});
