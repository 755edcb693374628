import { Bucket, type Bus } from '@brine/bus';
import { onPresence, publishPresence } from '@brine/bus/rpc';
import { AskedPresence } from '@brine/master-ports';
import { ConnectionBoard, packProofs, packReport, type PublisherReport } from '@brine/presence';
import { startNats, type TestNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PresenceOwner, type PresenceOwnerParts } from './presence-owner.ts';
import { PresenceRecords } from './presence-records.ts';

let nats: TestNats;
let worker: Bus;
let publisher: Bus;
const ends: (() => void)[] = [];

beforeEach(async () => {
  nats = await startNats();
  worker = await nats.connect('runner-pool');
  publisher = await nats.connect('publisher');
});

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) end();
  await nats.close();
});

interface Fired {
  readonly tag: string;
  readonly data: Readonly<Record<string, SaltValue>>;
  readonly msgId: string;
}

/** A run that this test holds, and what its owner did. */
function owned(bus: Bus, more: Partial<PresenceOwnerParts> = {}, data: SaltMap = mapOf({})) {
  const fired: Fired[] = [];
  const asked: (readonly string[])[] = [];
  const troubles: string[] = [];
  const accepted = new Set(['a', 'b', 'c']);
  const controller = new AbortController();
  const run = {
    data,
    released: controller.signal,
    check: () => controller.signal.throwIfAborted(),
    save: async (next: SaltMap) => {
      run.data = next;
    },
  };
  const owner = new PresenceOwner({
    bus,
    records: new PresenceRecords(new Bucket(bus, 'brine_presence')),
    fires: true,
    intervalMs: 300,
    graceMs: 400,
    herdMs: 400,
    provenForMs: 60_000,
    keys: { accepted: () => accepted, isReady: () => true },
    unanswering: () => new Set(),
    ask: async (ids) => void asked.push(ids),
    seenLately: async () => [],
    fire: async (tag, map, msgId) => {
      fired.push({ tag, data: Object.fromEntries(map) as Fired['data'], msgId });
    },
    onTrouble: (text) => void troubles.push(text),
    ...more,
  });
  const working = owner.work(run);
  const lose = async (): Promise<void> => {
    controller.abort();
    await working;
  };
  ends.push(() => controller.abort());
  const changes = (): Fired[] => fired.filter(({ tag }) => tag === 'salt/presence/change');
  return { owner, run, fired, asked, troubles, accepted, lose, changes };
}

/** A publisher that answers when it is asked for all it has. */
function publisherOn(bus: Bus, by: string, host = 'h') {
  const board = new ConnectionBoard(by, host);
  const say = (proofs: PublisherReport): void => publishPresence(bus, 'told', packReport(proofs));
  const sayAll = (): void => {
    for (const proofs of board.whole()) say(proofs);
  };
  const stop = onPresence(bus, 'hello', sayAll, () => undefined);
  const timer = setInterval(() => say(board.changes()), 100);
  const end = (): void => {
    clearInterval(timer);
    stop();
  };
  ends.push(end);
  return { board, end, say };
}

function heard(...minions: readonly (readonly [id: string, address: string])[]): void {
  const words = minions.map(([id, address]) => ({ id, address, agoMs: 0, answers: true }));
  publishPresence(worker, 'heard', packProofs(words));
}

test('minions that come and go are told as Salt tells them', async () => {
  const { changes, fired, lose, run } = owned(worker);
  const { board } = publisherOn(publisher, 'p1');
  board.opened('10.0.0.1');
  board.opened('10.0.0.2');
  await until('an owner listens', () => expect(fired.length).toBeGreaterThan(0));
  expect(fired[0]).toMatchObject({ tag: 'salt/presence/present', data: { present: [] } });
  heard(['b', '10.0.0.2'], ['a', '10.0.0.1'], ['stranger', '10.0.0.9']);
  await until('both are new', () => expect(changes()).toHaveLength(1));
  expect(changes()[0]).toMatchObject({ data: { new: ['a', 'b'], lost: [] } });
  await until('both are listed', () => {
    expect(fired.at(-1)).toMatchObject({
      tag: 'salt/presence/present',
      data: { present: ['a', 'b'] },
    });
    return true;
  });
  board.closed('10.0.0.1');
  await until('one is lost', () => expect(changes()).toHaveLength(2));
  expect(changes()[1]).toMatchObject({ data: { new: [], lost: ['a'] } });
  expect(new Set(changes().map(({ msgId }) => msgId)).size).toBe(2);
  await lose();
  expect(run.data.get('told')).toBe(2);
  expect(run.data.get('publishers')).toEqual([['p1', 'h']]);
});

test('the next owner goes on, and tells nothing twice', async () => {
  const first = owned(worker);
  const { board } = publisherOn(publisher, 'p1');
  board.opened('10.0.0.1');
  board.opened('10.0.0.2');
  await until('it listens', () => expect(first.fired.length).toBeGreaterThan(0));
  heard(['a', '10.0.0.1'], ['b', '10.0.0.2']);
  await until('both are new', () => expect(first.changes()).toHaveLength(1));
  await until('that is saved', () => expect(first.run.data.get('told')).toBe(1));
  await first.lose();
  const told = first.fired.length;
  board.closed('10.0.0.2');
  const other = await nats.connect('runner-pool');
  const second = owned(other, {}, first.run.data);
  await until('the one that went meanwhile is lost', () =>
    expect(second.changes()).toHaveLength(1),
  );
  expect(second.changes()[0]).toMatchObject({ data: { new: [], lost: ['b'] } });
  // The one before is silent.
  expect(first.fired).toHaveLength(told);
});

test('without presence_events nothing is fired, no minion is asked, and all is known', async () => {
  const { fired, asked, owner } = owned(worker, { fires: false });
  const { board } = publisherOn(publisher, 'p1');
  board.opened('10.0.0.1');
  board.opened('10.0.0.1');
  await until('the publisher is known', () => owner.presence.stats().publishers === 1);
  const presence = new AskedPresence(await nats.connect('runner-pool'));
  heard(['a', '10.0.0.1'], ['b', '10.0.0.1']);
  await until('both are present for any worker', async () => {
    expect(await presence.present()).toEqual(
      new Map([
        ['a', '10.0.0.1'],
        ['b', '10.0.0.1'],
      ]),
    );
    return true;
  });
  board.closed('10.0.0.1');
  await until('which of them is there is not clear', async () => {
    const known = await presence.of(['a', 'nobody']);
    expect([...known.keys()]).toEqual(['a']);
    expect(known.get('a')).toMatchObject({ present: true, evidence: 'unclear', goneMs: 0 });
    return true;
  });
  // An owner with presence_events knows the same: it fires and asks.
  const other = owned(await nats.connect('runner-pool'));
  await until('the other one listens', () => expect(other.fired.length).toBeGreaterThan(0));
  heard(['a', '10.0.0.1'], ['b', '10.0.0.1']);
  await until('the other one asks', () => expect(other.asked.length).toBeGreaterThan(0));
  expect(fired).toEqual([]);
  expect(asked).toEqual([]);
});

test('minions are asked where connections do not tell', async () => {
  const { asked, changes, fired, owner } = owned(worker);
  const { board } = publisherOn(publisher, 'p1');
  for (let at = 0; at < 3; at += 1) board.opened('10.0.0.1');
  await until('the publisher is known', () => owner.presence.stats().publishers === 1);
  heard(['a', '10.0.0.1'], ['b', '10.0.0.1'], ['c', '10.0.0.1']);
  await until('all are new', () => expect(changes()).toHaveLength(1));
  // No question, however often it looks: there are as many connections as minions.
  const looks = fired.length + 6;
  await until('it has looked again', () => expect(fired.length).toBeGreaterThan(looks));
  expect(asked).toEqual([]);
  board.closed('10.0.0.1');
  await until('all are asked', () => expect(asked[0]).toEqual(['a', 'b', 'c']));
  heard(['a', '10.0.0.1'], ['c', '10.0.0.1']);
  await until('only the silent one is asked again', () => expect(asked[1]).toEqual(['b']), {
    withinMs: 60_000,
  });
});

test('no owner is no empty list', async () => {
  const presence = new AskedPresence(worker);
  await expect(presence.of(['a'])).rejects.toMatchObject({ name: 'MasterUnavailableError' });
});

test('a first owner knows minions by the job cache until they speak', async () => {
  const { owner, troubles } = owned(worker, { fires: false, seenLately: async () => ['a', 'b'] });
  const { board } = publisherOn(publisher, 'p1');
  board.opened('10.0.0.1');
  await until('both are present', () => expect(owner.presence.stats().present).toBe(2));
  heard(['a', '10.0.0.1']);
  // Now the only connection is known to be of a.
  await until('the other one is not', () => expect(owner.presence.stats().present).toBe(1));
  expect(troubles).toEqual([]);
});

test('events that can not be stored are told later, under the same id', async () => {
  const ids: string[] = [];
  let fails = 2;
  const { owner, troubles } = owned(worker, {
    fire: async (tag, _data, msgId) => {
      if (tag !== 'salt/presence/change') return;
      ids.push(msgId);
      fails -= 1;
      if (fails >= 0) throw new Error('the stream is away');
    },
  });
  const { board } = publisherOn(publisher, 'p1');
  board.opened('10.0.0.1');
  await until('the publisher is known', () => owner.presence.stats().publishers === 1);
  heard(['a', '10.0.0.1']);
  await until('it is told at last', () => expect(ids).toHaveLength(3));
  expect(new Set(ids).size).toBe(1);
  expect(troubles).toEqual(['a change of presence could not be reported']);
});
