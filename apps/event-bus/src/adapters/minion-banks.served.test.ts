import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bucket, escapeKey } from '@brine/bus';
import { BankFiles } from '@brine/cachedir';
import { until } from '@brine/testing/waits';
import { mapOf, pack, type SaltMap, unpack } from '@brine/wire';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { TestHost, TestMaster } from '../start.fixture.ts';
import { startMinionBanks } from './minion-banks.ts';

let master: TestMaster;
let host: TestHost;
beforeAll(async () => {
  master = await TestMaster.start();
});
afterAll(() => master.close());
beforeEach(async () => {
  host = new TestHost(master);
  await host.start();
});
afterEach(() => host.close());

const grainsOf = (id: string, grains: SaltMap): Promise<number> =>
  new Bucket(master.worker, 'brine_minions').put(
    escapeKey(id),
    pack(mapOf({ grains, updated_at: 1 })),
  );
const mineOf = (id: string, mine: SaltMap | null): Promise<number> =>
  new Bucket(master.worker, 'brine_mine').put(escapeKey(id), pack(mine));

function file(...path: readonly string[]): unknown {
  return unpack(readFileSync(host.cache(...path)));
}

it('puts what workers stored on the disk of its host, and takes it away', async () => {
  const grains = mapOf({ role: 'web' });
  await grainsOf('web1', grains);
  await mineOf('web1', mapOf({ role_of: 'web' }));
  await until('the files of both layouts are there', () => {
    expect(file('grains', 'web1.p')).toEqual(grains);
    expect(file('minions', 'web1', 'data.p')).toEqual(mapOf({ grains }));
    expect(file('mine', 'web1.p')).toEqual(mapOf({ role_of: 'web' }));
    return true;
  });
  await grainsOf('web1', mapOf({ role: 'db' }));
  await mineOf('web1', null);
  await until('the change is there', () => {
    expect(file('grains', 'web1.p')).toEqual(mapOf({ role: 'db' }));
    expect(() => file('mine', 'web1.p')).toThrow('ENOENT');
    return true;
  });
});

it('writes after a restart what was stored meanwhile', async () => {
  await host.service.close();
  await grainsOf('late1', mapOf({ role: 'late' }));
  await host.start();
  await until('the file is there', () => {
    expect(file('grains', 'late1.p')).toEqual(mapOf({ role: 'late' }));
    return true;
  });
});

it('names no file after what is no minion id', async () => {
  await grainsOf('../../etc/evil', mapOf({ role: 'evil' }));
  await grainsOf('after', mapOf({ role: 'web' }));
  await until('the next one is there', () => {
    expect(file('grains', 'after.p')).toEqual(mapOf({ role: 'web' }));
    return true;
  });
  expect(() => readFileSync(host.cache('grains', '../../etc/evil.p'))).toThrow('ENOENT');
});

it('says once that the disk takes nothing, and goes on when it does', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'banks-'));
  const said: string[] = [];
  let isFull = true;
  const good = new BankFiles(dir, ['3008']);
  const banks = startMinionBanks({
    bus: master.worker,
    files: {
      keep: (...what) => (isFull ? Promise.reject(new Error('no room')) : good.keep(...what)),
    },
    onTrouble: (text) => void said.push(text),
  });
  try {
    await grainsOf('full1', mapOf({ role: 'web' }));
    await until('it is said', () => said.length > 0);
    isFull = false;
    const withinMs = 20_000;
    const isThere = () => {
      expect(unpack(readFileSync(join(dir, 'grains', 'full1.p')))).toEqual(mapOf({ role: 'web' }));
      return true;
    };
    await until('the file is there', isThere, { withinMs });
    expect(said.filter((text) => text.startsWith('grains'))).toEqual([
      'grains for stock tools could not be written',
    ]);
  } finally {
    await banks.close();
    rmSync(dir, { recursive: true, force: true });
  }
});
