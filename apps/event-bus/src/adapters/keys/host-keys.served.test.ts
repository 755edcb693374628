import { existsSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Bucket, escapeKey } from '@brine/bus';
import { readUserKey, writeDropFile } from '@brine/cachedir';
import { SecretBox } from '@brine/crypt';
import { loadOrCreateMasterKeys } from '@brine/pki';
import { until } from '@brine/testing/waits';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tagsOf, TestHost, TestMaster } from '../../start.fixture.ts';

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

describe('user keys', () => {
  it('are in files and, sealed, in the bucket of secrets; and stay over a restart', async () => {
    const key = await readUserKey(host.cache(), 'root');
    const { privatePem } = await loadOrCreateMasterKeys(host.pki());
    const entry = await new Bucket(master.worker, 'brine_secrets').get(
      escapeKey('userkeys', host.name),
    );
    const sealed = SecretBox.fromMasterKey(privatePem, 'userkeys');
    const opened = JSON.parse(sealed.open(entry?.value ?? Buffer.alloc(0)).toString('utf8'));
    expect(opened).toMatchObject({ root: key });
    await host.restart();
    expect(await readUserKey(host.cache(), 'root')).toBe(key);
  });

  it('that another program has written are not believed', async () => {
    const key = await readUserKey(host.cache(), 'root');
    await host.service.close();
    writeFileSync(host.cache('.root_key'), `${'A'.repeat(75)}=`);
    await host.start();
    expect(await readUserKey(host.cache(), 'root')).toBe(key);
  });
});

describe('minion keys', () => {
  const bucket = (): Bucket => new Bucket(master.worker, 'brine_keys');
  const put = (id: string, state: string, pub = 'PEM') =>
    bucket().put(escapeKey(id), Buffer.from(JSON.stringify({ state, pub, at: Date.now() })));
  const state = async (id: string): Promise<unknown> => {
    const entry = await bucket().get(escapeKey(id));
    return entry && JSON.parse(Buffer.from(entry.value).toString('utf8')).state;
  };

  it('that workers write appear as files, and moved files reach the workers', async () => {
    const id = `${host.name}.minion`;
    const pending = host.pki('minions_pre', id);
    await put(id, 'pending');
    await until('the pending key has its file', () => expect(existsSync(pending)).toBe(true));
    renameSync(pending, host.pki('minions', id));
    await until('the moved key is accepted', async () => expect(await state(id)).toBe('accepted'));
    unlinkSync(host.pki('minions', id));
    await until('the vanished key is deleted', async () => expect(await state(id)).toBe('deleted'));
  });

  it('that vanish all at once are not believed, and a metric shows it', async () => {
    const metric = async (): Promise<string | undefined> =>
      /^brine_key_sync_stopped\S* (\d)$/m.exec(await host.exposition())?.[1];
    const ids = Array.from({ length: 12 }, (_, index) => `${host.name}.${index}`);
    for (const id of ids) await put(id, 'accepted');
    const shelf = host.pki('minions');
    await until('all 12 keys have files and are counted', () => {
      expect(ids.filter((id) => !existsSync(join(shelf, id)))).toEqual([]);
      expect(host.service.status()).toMatchObject({ keys: { keys: 12 } });
      return true;
    });
    expect(await metric()).toBe('0');
    for (const id of ids) unlinkSync(join(shelf, id));
    await until('the metric shows the stop', async () => expect(await metric()).toBe('1'));
    for (const id of ids) writeFileSync(join(shelf, id), 'PEM');
    await until('the metric shows the end of the stop', async () =>
      expect(await metric()).toBe('0'),
    );
  });

  it('that were accepted and are deleted take the session with them and rotate the AES key', async () => {
    const id = `${host.name}.leaver`;
    const sessions = new Bucket(master.worker, 'brine_sessions');
    const minions = new Bucket(master.worker, 'brine_minions');
    await sessions.put(escapeKey(id), Buffer.from('sealed'));
    await minions.put(escapeKey(id), Buffer.from('grains'));
    await put(id, 'accepted');
    await until('the key of the leaver has its file', () =>
      expect(existsSync(host.pki('minions', id))).toBe(true),
    );
    const rotations = (): unknown => host.service.status();
    expect(rotations()).toMatchObject({ keys: { rotations: 0 } });
    // As `salt-key -d`: the file goes, then the wish for a new key comes.
    unlinkSync(host.pki('minions', id));
    await writeDropFile(host.cache(), host.options.masterId);
    await until('the AES key is rotated', () =>
      expect(rotations()).toMatchObject({ keys: { rotations: 1 } }),
    );
    // Not before the deletion was known to all: else the minion could have the new key too.
    expect(await state(id)).toBe('deleted');
    expect((await sessions.get(escapeKey(id)))?.value).toHaveLength(0);
    expect((await minions.get(escapeKey(id)))?.value).toHaveLength(0);
  });

  it('that only waited are deleted without a new AES key', async () => {
    const id = `${host.name}.stranger`;
    await put(id, 'pending');
    await until('the key of the stranger has its file', () =>
      expect(existsSync(host.pki('minions_pre', id))).toBe(true),
    );
    unlinkSync(host.pki('minions_pre', id));
    await until('the key of the stranger is deleted', async () =>
      expect(await state(id)).toBe('deleted'),
    );
    expect(host.service.status()).toMatchObject({ keys: { rotations: 0 } });
  });

  it('deleted by a stock tool rotate the AES key', async () => {
    const { seen, client } = await host.reader();
    await writeDropFile(host.cache(), host.options.masterId);
    await until('the key event is seen', () => expect(tagsOf(seen)).toContain('key'));
    expect(seen.find(({ tag }) => tag === 'key')?.data.get('rotate_aes_key')).toBe(true);
    expect(existsSync(host.cache('.dfn'))).toBe(false);
    client.close();
  });
});
