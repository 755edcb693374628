import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bucket, connectBus, escapeKey } from '@brine/bus';
import { BankFiles } from '@brine/cachedir';
import { openStoredBanks } from '@brine/master-state';
import { loadOrCreateMasterKeys } from '@brine/pki';
import { until } from '@brine/testing/waits';
import { mapOf, pack, type SaltMap, unpack } from '@brine/wire';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { TestHost, TestMaster } from '../start.fixture.ts';
import { BankMirror, followOn } from './bank-mirror.ts';

let master: TestMaster;
let host: TestHost;
beforeAll(async () => {
  master = await TestMaster.start();
});
afterAll(() => master.close());
beforeEach(async () => {
  host = new TestHost(master);
  host.configure({ brine: { minion_banks: '3008' } });
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

/** Waits until a file contains just this; undefined: until it is gone. */
async function holds(path: string, data: SaltMap | undefined, how = {}): Promise<void> {
  const isAsStored = (): boolean => {
    if (data === undefined) expect(existsSync(path)).toBe(false);
    else expect(unpack(readFileSync(path))).toEqual(data);
    return true;
  };
  await until(`${path} is as stored`, isAsStored, how);
}

it('puts what workers stored on the disk of its host, and takes it away', async () => {
  const grains = mapOf({ role: 'web' });
  await grainsOf('web1', grains);
  await mineOf('web1', mapOf({ role_of: 'web' }));
  await holds(host.cache('grains', 'web1.p'), grains);
  await holds(host.cache('mine', 'web1.p'), mapOf({ role_of: 'web' }));
  await grainsOf('web1', mapOf({ role: 'db' }));
  await holds(host.cache('grains', 'web1.p'), mapOf({ role: 'db' }));
  await mineOf('web1', null);
  await holds(host.cache('mine', 'web1.p'), undefined);
  expect(existsSync(host.cache('minions'))).toBe(false);
});

it('writes after a restart what was stored meanwhile', async () => {
  await host.service.close();
  await grainsOf('late1', mapOf({ role: 'late' }));
  await host.start();
  await holds(host.cache('grains', 'late1.p'), mapOf({ role: 'late' }));
});

it('names no file after what is no minion id', async () => {
  await grainsOf('../../etc/evil', mapOf({ role: 'evil' }));
  await grainsOf('after', mapOf({ role: 'web' }));
  await holds(host.cache('grains', 'after.p'), mapOf({ role: 'web' }));
  expect(existsSync(host.cache('grains', '../../etc/evil.p'))).toBe(false);
});

it('reports a disk that takes nothing once, and continues when it does', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'banks-'));
  const { privateKey } = await loadOrCreateMasterKeys(join(master.dir, 'keys'));
  const bus = await connectBus({ url: master.nats.urls['event-bus'], name: 'event-bus' });
  const files = new BankFiles({ cachedir: dir, layout: '3008' });
  const said: string[] = [];
  let isFull = true;
  const mirror = new BankMirror({
    files: {
      layout: '3008',
      write: async (...what) => {
        if (isFull) throw Object.assign(new Error('no room'), { code: 'ENOSPC' });
        await files.write(...what);
      },
      writeData: (...what) => files.writeData(...what),
      remove: (id) => files.remove(id),
    },
    banks: openStoredBanks(bus, privateKey),
    wanted: ['grains'],
    hasKey: () => true,
    knowsKeys: () => true,
    journal: join(dir, 'journal'),
    follow: followOn(bus),
    onTrouble: (text) => void said.push(text),
  });
  try {
    await grainsOf('full1', mapOf({ role: 'web' }));
    mirror.start();
    await until('the fault is reported', () => said.length > 0);
    expect(mirror.isEven).toBe(false);
    isFull = false;
    const file = join(dir, 'grains', 'full1.p');
    await holds(file, mapOf({ role: 'web' }));
    expect(said).toEqual(['the files of minion data are not written']);
  } finally {
    await mirror.close();
    await bus.close();
    rmSync(dir, { recursive: true, force: true });
  }
});
