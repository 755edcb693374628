import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { isMap, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { afterAll, expect, test } from 'vitest';
import { type MasterAccess, masterFunctions } from './master-functions.ts';
import { runFunction } from './run-function.ts';

const DIR = mkdtempSync(join(tmpdir(), 'brine-minion-test-'));
afterAll(() => rmSync(DIR, { recursive: true, force: true }));

const TEXT = 'plain file\nsecond line\n'.repeat(100);
const PIECE = 1000;

/** A master that answers as libs/master does, and what it was asked. */
class Master implements MasterAccess {
  readonly id = 'web1';
  readonly hashType = 'sha256';
  readonly ownPub = '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n';
  readonly asked: SaltMap[] = [];
  slept = 0;
  #returned = 0;

  masterPub = async (): Promise<string | undefined> => undefined;

  sleep = async (ms: number): Promise<void> => {
    this.slept += ms;
  };

  send = async (load: SaltMap): Promise<SaltValue> => {
    this.asked.push(load);
    switch (textOf(load, 'cmd')) {
      case '_serve_file':
        return this.#piece(textOf(load, 'path') ?? '', Number(load.get('loc')));
      case 'minion_pub':
        return mapOf({ jid: '1', minions: ['db1', 'db2'] });
      case 'pub_ret':
        this.#returned += 1;
        return new Map<SaltValue, SaltValue>(
          ['db1', 'db2'].slice(0, this.#returned).map((id) => [id, mapOf({ ret: true, out: 'x' })]),
        );
      case '_mine_get':
        return mapOf({ web1: 'mine', web2: 'other' });
      default:
        return true;
    }
  };

  #piece(path: string, loc: number): SaltMap {
    if (path !== 'files/plain.txt') return mapOf({ data: new Uint8Array(), dest: '' });
    const data = Buffer.from(TEXT).subarray(loc, loc + PIECE);
    if (data.length === 0) return mapOf({ data: new Uint8Array(), dest: path });
    return mapOf({ data: new Uint8Array(gzipSync(data)), dest: path, gzip: 5 });
  }
}

async function ask(master: Master | undefined, name: string, ...args: SaltValue[]) {
  const fun = masterFunctions(master).get(name);
  if (fun === undefined) throw new Error(`no ${name}`);
  return runFunction(name, fun, args, mapOf({}));
}

test('a file comes in pieces, and is written where it was asked for', async () => {
  const master = new Master();
  const text = await ask(master, 'cp.get_file_str', 'salt://files/plain.txt');
  expect(text.return).toBe(TEXT);
  expect(master.asked.map((load) => load.get('loc'))).toEqual([0, 1000, 2000, 2300]);
  const dest = join(DIR, 'call.txt');
  expect((await ask(master, 'cp.get_file', 'salt://files/plain.txt', dest)).return).toBe(dest);
  expect(readFileSync(dest, 'utf8')).toBe(TEXT);
});

test('a file that is not there gives an empty path, and nothing is written', async () => {
  const dest = join(DIR, 'none.txt');
  expect((await ask(new Master(), 'cp.get_file', 'salt://none', dest)).return).toBe('');
  expect(existsSync(dest)).toBe(false);
  expect((await ask(new Master(), 'cp.get_file_str', 'salt://none')).return).toBe(false);
});

test('publish waits until all that matched have returned', async () => {
  const master = new Master();
  const { return: value } = await ask(master, 'publish.publish', 'db*', 'test.arg', 'a,b');
  expect(value).toEqual(mapOf({ db1: true, db2: true }));
  const [sent] = master.asked;
  expect(Object.fromEntries(sent ?? [])).toMatchObject({
    cmd: 'minion_pub',
    fun: 'test.arg',
    arg: ['a', 'b'],
    tgt: 'db*',
    tgt_type: 'glob',
    id: 'web1',
    tmo: 5,
    form: 'clean',
  });
  expect(master.slept).toBe(300);
});

test('publish does not publish itself', async () => {
  const master = new Master();
  const { return: value } = await ask(master, 'publish.publish', '*', 'publish.publish');
  expect([value, master.asked]).toEqual([new Map(), []]);
});

test('the mine leaves this minion out where that is asked for', async () => {
  const kwarg = new Map<SaltValue, SaltValue>([
    ['__kwarg__', true],
    ['exclude_minion', true],
  ]);
  const { return: value } = await ask(new Master(), 'mine.get', '*', 'role', kwarg);
  expect(value).toEqual(mapOf({ web2: 'other' }));
});

test('an event has the given data and names', async () => {
  const master = new Master();
  const kwarg = new Map<SaltValue, SaltValue>([
    ['__kwarg__', true],
    ['b', 2],
  ]);
  expect((await ask(master, 'event.send', 'lab/x', mapOf({ a: 1 }), kwarg)).return).toBe(true);
  const data = master.asked[0]?.get('data');
  expect(isMap(data) && [data.get('a'), data.get('b')]).toEqual([1, 2]);
});

test.each(['publish.publish', 'publish.runner', 'mine.get', 'cp.get_file_str'])(
  '%s is an error without a master',
  async (name) => {
    const { return: value, retcode } = await ask(undefined, name, 'salt://x', 'y');
    expect([value, retcode]).toEqual([
      'ERROR: No access to master. If using salt-call with --local, please remove.',
      1,
    ]);
  },
);
