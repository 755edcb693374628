import { PrivateKey } from '@brine/crypt';
import { type MemoryMaster, memoryMaster, vectorFile } from '@brine/testing';
import { mapOf, pack, type SaltMap, type SaltValue, scanMap } from '@brine/wire';
import { beforeEach, describe, expect, test } from 'vitest';
import { MasterUnavailableError } from '../errors.ts';
import type { FunctionCall } from '../ports/ports.ts';
import { runAesCommand } from './commands.ts';

const auth = vectorFile<{ readonly master_key: { readonly pem: string } }>('auth.json');
const masterKey = PrivateKey.parse(auth.master_key.pem);

let made: MemoryMaster;
let calls: FunctionCall[];
let pieces: unknown[];
let answers: number;
beforeEach(() => {
  calls = [];
  pieces = [];
  answers = 0;
  made = memoryMaster({
    masterKey,
    runRunner: async (call) => {
      calls.push(call);
      return { value: 'done', success: true };
    },
    rules: {
      fileRecv: { maxMegabytes: 1 },
      orderMasters: true,
      peer: { m1: ['test.*'] },
      peerRun: { m1: ['test.*'] },
    },
    answerQuery: () => new Map(),
  });
  made.setKey('m1', { state: 'accepted', pub: masterKey.publicKey.pem, denied: [] });
  Object.assign(made.ports.received, {
    write: async (piece: unknown) => Boolean(pieces.push(piece)),
  });
});

/** A load as it came, `from` another connection each time. */
async function send(cmd: string, fields: SaltMap, from: string, version = 3): Promise<SaltValue> {
  const body = pack(new Map([...mapOf({ cmd, id: 'm1', nonce: 'n1' }), ...fields]));
  const request = { id: from, body: Buffer.alloc(0), gatewayHost: 'host1' };
  const opened = { request, body, scan: scanMap(body), minion: 'm1', tokenChecked: true, version };
  answers += 1;
  return (await runAesCommand(made.ports, opened)).value;
}

/** All that a command may have changed. */
async function changed(): Promise<unknown> {
  const mine = await made.ports.mines.fetch('m1');
  const grains = made.grains.get('m1');
  const { events, jobs, minionKeys } = made;
  const tags = events.map(({ tag }) => tag);
  const key = minionKeys.get('m1');
  return structuredClone({ mine, grains, tags, jobs: jobs.length, key, calls, pieces });
}

const JOB = { fun: 'test.ping', arg: [], tgt: 'm1', tgt_type: 'glob', ret: '' };
const RETURN = { return: true, retcode: 0, success: true, fun: 'test.ping' };
const JID = '20261122080000123456';
const SYNDIC = {
  id: 'm1',
  jid: JID,
  fun: 'x',
  master_id: 'm',
  load: mapOf({ fun: 'x', Minions: ['m1'] }),
  return: mapOf({ m9: mapOf({ return: true, retcode: 0, success: true }) }),
};

/** Commands that write, with a load. */
const WRITING: readonly (readonly [cmd: string, fields: SaltMap])[] = [
  ['_mine', mapOf({ data: mapOf({ 'test.ping': 'old' }) })],
  ['_mine_delete', mapOf({ fun: 'test.ping' })],
  ['_mine_flush', mapOf({})],
  ['_file_recv', mapOf({ path: ['a'], loc: 0, data: 'x', size: 1 })],
  ['_pillar', mapOf({ grains: mapOf({ os: 'old' }), ver: '2' })],
  ['_register_resources', mapOf({})],
  ['minion_runner', mapOf({ fun: 'test.arg', arg: [] })],
  ['minion_pub', mapOf(JOB)],
  ['minion_publish', mapOf({ ...JOB, timeout: 0 })],
  ['revoke_auth', mapOf({})],
  ['_return', mapOf({ ...RETURN, jid: 'req' })],
  ['_return', mapOf({ ...RETURN, jid: 'nocache' })],
  ['_syndic_return', mapOf({ load: [mapOf(SYNDIC)] })],
];

describe('a request that writes is done once for a minion and its nonce', () => {
  test.each(WRITING)('%s', async (cmd, fields) => {
    const data = mapOf({ data: mapOf({ 'test.ping': 'first' }), nonce: 'n0' });
    await send('_mine', data, 'r0');
    const before = await changed();
    const reply = await send(cmd, fields, 'r1');
    expect(await changed()).not.toEqual(before);
    // Since then the minion itself has sent something newer, and duplicates are not known any more.
    await send('_mine', new Map([...data, ['nonce', 'n2']]), 'r2');
    made.grains.set('m1', mapOf({ os: 'new' }));
    made.setKey('m1', { state: 'accepted', pub: masterKey.publicKey.pem, denied: [] });
    made.events.length = 0;
    made.jobs.length = 0;
    const newer = await changed();
    expect(await send(cmd, fields, 'r3')).toEqual(reply);
    expect(await send(cmd, fields, 'r4')).toEqual(reply);
    expect(await changed()).toEqual(newer);
    expect(made.counts.get('aes_came_again')).toBe(2);
  });

  test('another nonce is another request', async () => {
    for (const nonce of ['n1', 'n2', 'n3']) {
      await send('_register_resources', mapOf({ nonce }), `r${nonce}`);
    }
    expect(made.events).toHaveLength(3);
  });

  test.each<[string, SaltValue | undefined]>([
    ['no nonce', undefined],
    ['an empty one', ''],
    ['a number', 7],
  ])('a load with %s is known by itself', async (_name, nonce) => {
    for (const n of [1, 1, 2]) {
      await send('_register_resources', mapOf({ n, nonce: nonce ?? null }), `r${answers}`);
    }
    expect(made.events).toHaveLength(2);
  });

  test('a return of a job is not looked up: its store recognizes repeats', async () => {
    let asked = 0;
    Object.assign(made.ports.once, { begin: () => Promise.reject(new Error(`${(asked += 1)}`)) });
    await send('_return', mapOf({ ...RETURN, jid: JID }), 'r1');
    expect(asked).toBe(0);
  });

  test('the same gateway goes on with what its worker left', async () => {
    const { events } = made.ports;
    const append = events.append.bind(events);
    const away = (): Promise<never> => Promise.reject(new MasterUnavailableError('away'));
    const fields = mapOf({});
    Object.assign(made.ports.events, { append: away });
    await expect(send('_register_resources', fields, 'r1')).rejects.toThrow('away');
    Object.assign(made.ports.events, { append });
    // Another gateway has to wait until that is settled.
    await expect(send('_register_resources', fields, 'r2')).rejects.toThrow(MasterUnavailableError);
    expect(await send('_register_resources', fields, 'r1')).toBe(true);
    expect(made.events).toHaveLength(1);
  });
});

describe('events of a minion', () => {
  const event = mapOf({ tag: 'own/tag', data: mapOf({ x: 1 }), pretag: null });

  test('come again within the memory of the stream, which knows them by their ids', async () => {
    expect(await send('_minion_event', event, 'r1')).toBe(null);
    expect(await send('_minion_event', event, 'r2')).toBe(null);
    expect(made.events).toHaveLength(1);
  });

  test('come again when the stream has forgotten them: they are answered and not fired', async () => {
    await send('_minion_event', event, 'r1');
    made.events.length = 0;
    Object.assign(made.ports.once, { note: () => Promise.resolve(100_001) });
    expect(await send('_minion_event', event, 'r2')).toBe(null);
    expect(made.events).toEqual([]);
    expect(made.counts.get('aes_came_again')).toBe(1);
  });

  test('that could not be stored are new when they come again, however late', async () => {
    const append = made.ports.events.append.bind(made.ports.events);
    const away = (): Promise<never> => Promise.reject(new MasterUnavailableError('it is full'));
    Object.assign(made.ports.events, { append: away });
    const note = made.ports.once.note.bind(made.ports.once);
    const late = async (key: string, by: string): Promise<number> =>
      (await note(key, by)) * 1_000_000;
    Object.assign(made.ports.once, { note: late });
    await expect(send('_minion_event', event, 'r1')).rejects.toThrow(MasterUnavailableError);
    Object.assign(made.ports.events, { append });
    expect(await send('_minion_event', event, 'r2')).toBe(null);
    expect(made.events).toHaveLength(1);
  });

  test('beyond its share are not answered and not noted, so that they come again', async () => {
    const asked: unknown[] = [];
    const noted: string[] = [];
    let isOver = true;
    const note = made.ports.once.note.bind(made.ports.once);
    Object.assign(made.ports.once, {
      note: (key: string, by: string) => {
        noted.push(by);
        return note(key, by);
      },
    });
    Object.assign(made.ports, {
      inShare: async (peer: object, bytes: number, work: () => Promise<unknown>) => {
        asked.push({ ...peer, isSized: bytes > 10 });
        if (isOver) throw new MasterUnavailableError('it has had its share');
        return work();
      },
    });
    await expect(send('_minion_event', event, 'r1')).rejects.toThrow(MasterUnavailableError);
    expect([made.events.length, noted]).toEqual([0, []]);
    isOver = false;
    expect(await send('_minion_event', event, 'r1')).toBe(null);
    expect([made.events.length, noted]).toEqual([1, ['r1']]);
    expect(asked).toEqual(Array(2).fill({ id: 'm1', kind: 'minion', isSized: true }));
  });

  test('of an older payload version, which nothing binds to a sender, are not looked up', async () => {
    Object.assign(made.ports.once, { note: () => Promise.reject(new Error('asked')) });
    expect(await send('_minion_event', event, 'r1', 2)).toBe(null);
    expect(made.events).toHaveLength(1);
  });
});
