import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { mapOf, pack, type SaltValue } from '@brine/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { JobFiles } from '../job-files.ts';
import type { PassedOver } from './bounded.ts';
import { readStockJobs } from './jobs.ts';
import { readStockBanks } from './minion-data.ts';
import {
  keepStockTokens,
  readStockSessions,
  readStockTokens,
  writeStockSession,
  writeStockToken,
} from './tokens.ts';

const JID = '20261125120000000001';
const TOKEN = 'ab'.repeat(32);
const KEY = `${'k'.repeat(75)}=`;
const AT_S = 1_700_000_000;

let cachedir: string;
let passed: PassedOver[];
const onPassed = (one: PassedOver): void => void passed.push(one);

beforeEach(() => {
  cachedir = mkdtempSync(join(tmpdir(), 'stock-'));
  passed = [];
});
afterEach(() => rmSync(cachedir, { recursive: true, force: true }));

function put(path: string, value: SaltValue | string, atS = AT_S): void {
  const file = join(cachedir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof value === 'string' ? value : pack(value, 'bin'));
  utimesSync(file, atS, atS);
}

async function all<T>(source: AsyncIterable<T> | readonly T[]): Promise<T[]> {
  const found: T[] = [];
  for await (const one of source) found.push(one);
  return found;
}

describe('data of minions', () => {
  test('of 3006 are in one file, with the mine beside it', async () => {
    const grains = mapOf({ os: 'Debian' });
    put('minions/web-1/data.p', mapOf({ grains, pillar: mapOf({ role: 'web' }) }));
    put('minions/web-1/mine.p', mapOf({ 'test.ping': true }));
    const found = await all(readStockBanks(cachedir, onPassed));
    expect(found.map(({ bank, id }) => `${bank} ${id}`)).toEqual([
      'grains web-1',
      'pillar web-1',
      'mine web-1',
    ]);
    expect(found[0]).toMatchObject({ data: grains, timeMs: AT_S * 1_000 });
  });

  test('of 3008 are a file each, and a pillar may be of an environment', async () => {
    put('grains/web-1.p', mapOf({ os: 'Debian' }));
    put('pillar/web-1:dev.p', mapOf({ role: 'web' }));
    put('pillar/tmpabc123', 'half written');
    const found = await all(readStockBanks(cachedir, onPassed));
    expect(found.map(({ bank, id, env }) => [bank, id, env])).toEqual([
      ['grains', 'web-1', undefined],
      ['pillar', 'web-1', 'dev'],
    ]);
    expect(passed).toEqual([]);
  });

  test('of a cachedir that was upgraded, or went back, the newer come', async () => {
    const old = mapOf({ grains: mapOf({ os: 'old' }), pillar: mapOf({ role: 'old' }) });
    put('minions/up/data.p', old);
    put('minions/up/mine.p', mapOf({ 'test.ping': false }));
    put('pillar/up.p', mapOf({ role: 'new' }), AT_S + 1);
    put('mine/up.p', mapOf({ 'test.ping': true }), AT_S + 1);
    put('minions/back/data.p', old, AT_S + 1);
    put('grains/back.p', mapOf({ os: 'older' }));
    const found = await all(readStockBanks(cachedir, onPassed));
    const times = found.map(({ bank, id, timeMs }) => [bank, id, timeMs / 1_000 - AT_S]);
    expect(times.sort()).toEqual([
      ['grains', 'back', 1],
      ['grains', 'up', 0],
      ['mine', 'up', 1],
      ['pillar', 'back', 1],
      ['pillar', 'up', 1],
    ]);
  });

  test('a broken file is told and passed over', async () => {
    put('grains/bad.p', 'no msgpack');
    put('grains/good.p', mapOf({ os: 'Debian' }));
    const found = await all(readStockBanks(cachedir, onPassed));
    expect(found.map(({ id }) => id)).toEqual(['good']);
    expect(passed.map(({ path }) => path)).toEqual([join(cachedir, 'grains', 'bad.p')]);
  });

  test('there are none where no master ran', async () => {
    expect(await all(readStockBanks(join(cachedir, 'nowhere'), onPassed))).toEqual([]);
  });
});

describe('tokens', () => {
  const data = mapOf({ name: 'fred', eauth: 'pam', expire: AT_S + 0.5 });

  test.each([
    [false, TOKEN],
    [true, `${TOKEN}.p`],
  ])('written for 3008: %s, they read the same', async (isOf3008, name) => {
    const dir = join(cachedir, 'tokens');
    const file = { token: TOKEN, data, expire: AT_S + 0.5 };
    expect(await writeStockToken(dir, file, { isOf3008 })).toBe(true);
    expect(await writeStockToken(dir, file, { isOf3008 })).toBe(false);
    expect(await all(readStockTokens(dir, onPassed))).toEqual([file]);
    expect(readdirSync(dir)).toEqual([name]);
  });

  test('those that are not wanted any more go, and nothing else', async () => {
    const other = 'cd'.repeat(32);
    for (const name of [TOKEN, other, `${other}.p`, 'README']) put(`tokens/${name}`, 'x');
    expect(await keepStockTokens(join(cachedir, 'tokens'), new Set([TOKEN]))).toBe(2);
    expect(readdirSync(join(cachedir, 'tokens')).sort()).toEqual(['README', TOKEN].sort());
    expect(await keepStockTokens(join(cachedir, 'none'), new Set())).toBe(0);
  });

  test('what is no token is passed over; a name never leaves the directory', async () => {
    put('tokens/.tmp', 'x');
    put(`tokens/${TOKEN}`, mapOf({ name: 'fred' }));
    expect(await all(readStockTokens(join(cachedir, 'tokens'), onPassed))).toEqual([]);
    const odd = { token: '../../etc/x', data, expire: AT_S };
    expect(await writeStockToken(join(cachedir, 'tokens'), odd, { isOf3008: false })).toBe(false);
  });
});

test('a session key keeps its age', async () => {
  await writeStockSession(cachedir, { id: 'web-1', key: KEY, timeMs: AT_S * 1_000 });
  put('sessions/aes123', 'half');
  const found = await all(readStockSessions(cachedir, onPassed));
  expect(found).toEqual([{ id: 'web-1', key: KEY, timeMs: AT_S * 1_000 }]);
});

describe('jobs', () => {
  const files = (): JobFiles => new JobFiles({ cachedir });

  async function saved(): Promise<void> {
    const load = mapOf({ fun: 'test.ping', tgt: '*' });
    await files().writeJob({ jid: JID, load, minions: ['b', 'a'] });
    await files().writeReturn(JID, 'a', mapOf({ return: true, retcode: 0 }), 'nested');
  }

  test('come with their minions and returns', async () => {
    await saved();
    const [job] = await all(readStockJobs(files(), { onPassed }));
    expect(job).toMatchObject({ jid: JID, minions: ['a', 'b'] });
    const returns = await all(job?.returns ?? []);
    expect(returns).toMatchObject([{ id: 'a', out: 'nested' }]);
  });

  test('without a list of minions those that returned are theirs', async () => {
    await files().writeJob({ jid: JID, load: mapOf({ fun: 'test.ping' }) });
    await files().writeReturn(JID, 'a', mapOf({ return: true }));
    await files().writeEndTime(JID, 'now');
    const [job] = await all(readStockJobs(files(), { onPassed }));
    expect(job?.minions).toEqual(['a']);
  });

  test('those that did not change since are passed over', async () => {
    await saved();
    const sinceMs = Date.now() + 60_000;
    expect(await all(readStockJobs(files(), { sinceMs, onPassed }))).toEqual([]);
    expect(await all(readStockJobs(files(), { sinceMs: 0, onPassed }))).toHaveLength(1);
  });

  test('a jid that is no file, or too large, passes over its job alone', async () => {
    const files = new JobFiles({ cachedir });
    for (const jid of [JID, '20261125120000000002', '20261125120000000003']) {
      await files.writeJob({ jid, load: mapOf({ fun: 'test.ping' }), minions: [] });
    }
    rmSync(join(files.dir('20261125120000000002'), 'jid'));
    mkdirSync(join(files.dir('20261125120000000002'), 'jid'));
    writeFileSync(join(files.dir('20261125120000000003'), 'jid'), 'x'.repeat(5_000));
    const found = await all(readStockJobs(files, { onPassed }));
    expect(found.map(({ jid }) => jid)).toEqual([JID]);
    const whys = passed.map(({ why }) => why);
    expect(whys).toContain('no plain file');
    expect(whys).toContain('5000 bytes, more than 4096');
  });

  test('a job without a load, and a return that is no file, stop nothing', async () => {
    await saved();
    put('jobs/aa/bb/jid', '20261125120000000002');
    mkdirSync(join(files().dir(JID), 'c'));
    symlinkSync('/dev/zero', join(files().dir(JID), 'c', 'return.p'));
    const found = await all(readStockJobs(files(), { onPassed }));
    const returns = await Promise.all(found.map((one) => all(one.returns)));
    expect(returns.map((some) => some.length)).toEqual([1]);
    expect(passed).toHaveLength(2);
  });
});
