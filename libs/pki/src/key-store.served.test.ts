import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readSigningFile, takeAutosignStub } from './autosign.ts';
import { journalPath, KeyJournal } from './journal.ts';
import { ensureKeyDirs } from './key-dirs.ts';
import { KeyStore } from './key-store.ts';
import { loadOrCreateMasterKeys, masterKeyOptions } from './master-keys.ts';
import { MinionKeyFiles } from './minion-keys.ts';

let dir = '';
beforeEach(() => {
  dir = join(mkdtempSync(join(tmpdir(), 'pki-')), 'master');
});
afterEach(() => rmSync(join(dir, '..'), { recursive: true, force: true }));

const mode = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

describe('loadOrCreateMasterKeys', () => {
  it('makes one pair for all that start at once', async () => {
    const made = await Promise.all([1, 2, 3, 4].map(() => loadOrCreateMasterKeys(dir)));
    expect(new Set(made.map((keys) => keys.privatePem)).size).toBe(1);
    expect(new Set(made.map((keys) => keys.publicPem)).size).toBe(1);
    const again = await loadOrCreateMasterKeys(dir);
    expect(again.publicPem).toBe(made[0]?.publicPem);
    expect(made[0]?.privatePem).toContain('BEGIN RSA PRIVATE KEY');
    expect(await mode(join(dir, 'master.pem'))).toBe('400');
    expect(await mode(dir)).toBe('700');
  });

  it('makes the public file again from the private one', async () => {
    const { publicPem } = await loadOrCreateMasterKeys(dir);
    writeFileSync(join(dir, 'master.pub'), 'something else');
    await loadOrCreateMasterKeys(dir);
    expect((await stat(join(dir, 'master.pub'))).size).toBe(publicPem.length + 1);
  });

  it('names the pair as tools of 3008 look for it, and follows a change of it', async () => {
    const { privatePem } = await loadOrCreateMasterKeys(dir, 2048, { id: 'salt1_master' });
    expect(readFileSync(join(dir, 'salt1.pem'), 'utf8').trim()).toBe(privatePem.trim());
    expect(await mode(join(dir, 'salt1.pem'))).toBe('400');
    await KeyJournal.open(journalPath(dir));
    const other = await loadOrCreateMasterKeys(join(dir, 'other'));
    rmSync(join(dir, 'master.pem'));
    writeFileSync(join(dir, 'master.pem'), other.privatePem);
    await loadOrCreateMasterKeys(dir, 2048, { id: 'salt1_master' });
    expect(readFileSync(join(dir, 'salt1.pem'), 'utf8').trim()).toBe(other.privatePem.trim());
    expect(readFileSync(join(dir, 'salt1.pub'), 'utf8').trim()).toBe(other.publicPem);
  });

  it('takes the pair of a 3008 master that has no master.pem', async () => {
    const made = await loadOrCreateMasterKeys(dir, 2048, { id: 'salt1_master' });
    for (const name of ['master.pem', 'master.pub']) rmSync(join(dir, name));
    const before = readFileSync(join(dir, 'salt1.pem'), 'utf8');
    const taken = await loadOrCreateMasterKeys(dir, 2048, { id: 'salt1_master' });
    expect(taken.publicPem).toBe(made.publicPem);
    expect(await mode(join(dir, 'master.pem'))).toBe('400');
    expect(readFileSync(join(dir, 'salt1.pem'), 'utf8')).toBe(before);
  });

  it('never replaces the key of a 3008 master, also one that it can not open', async () => {
    const other = await loadOrCreateMasterKeys(join(dir, 'other'));
    writeFileSync(join(dir, 'salt1.pem'), 'encrypted otherwise');
    const start = () => loadOrCreateMasterKeys(dir, 2048, { id: 'salt1_master' });
    await expect(start()).rejects.toThrow('salt1.pem: not a usable RSA private key');
    writeFileSync(join(dir, 'salt1.pem'), other.privatePem);
    await loadOrCreateMasterKeys(join(dir, 'third'));
    writeFileSync(join(dir, 'master.pem'), readFileSync(join(dir, 'third/master.pem')));
    await expect(start()).rejects.toThrow('salt1.pem is another key than master.pem');
    expect(readFileSync(join(dir, 'salt1.pem'), 'utf8')).toBe(other.privatePem);
  });

  it('does not replace a private key it can not read', async () => {
    mkdirSync(dir);
    writeFileSync(join(dir, 'master.pem'), 'no key');
    await expect(loadOrCreateMasterKeys(dir)).rejects.toMatchObject({ code: 'SALT_PKI_BAD_KEY' });
  });

  it('encrypts a new key with the passphrase, and opens it with that one alone', async () => {
    const options = { id: 'salt1_master', keyPass: 'hunter2' };
    const made = await loadOrCreateMasterKeys(dir, 2048, options);
    for (const name of ['master.pem', 'salt1.pem']) {
      expect(readFileSync(join(dir, name), 'utf8')).toContain('Proc-Type: 4,ENCRYPTED');
    }
    const before = readFileSync(join(dir, 'salt1.pem'), 'utf8');
    const again = await loadOrCreateMasterKeys(dir, 2048, options);
    expect(again.privatePem).toBe(made.privatePem);
    expect(readFileSync(join(dir, 'salt1.pem'), 'utf8')).toBe(before);
    await expect(loadOrCreateMasterKeys(dir)).rejects.toThrow(
      'it is encrypted, and no passphrase is set (key_pass)',
    );
    await expect(loadOrCreateMasterKeys(dir, 2048, { keyPass: 'other' })).rejects.toThrow(
      'it is encrypted, and the passphrase (key_pass) does not open it',
    );
  });

  it('opens a key that is not encrypted although there is a passphrase', async () => {
    const { privatePem } = await loadOrCreateMasterKeys(dir);
    const again = await loadOrCreateMasterKeys(dir, 2048, { keyPass: 'hunter2' });
    expect(again.privatePem).toBe(privatePem);
  });

  it('has the pair of a cluster beside the own one, which stays as it is', async () => {
    const own = await loadOrCreateMasterKeys(dir, 2048, { id: 'salt1_master' });
    const shared = join(dir, 'shared');
    const settings = {
      id: 'salt1_master',
      masterSignPubkey: true,
      masterSignKeyName: 'master_sign',
      masterUsePubkeySignature: false,
      masterPubkeySignature: undefined,
      masterKeyName: 'cluster',
      ownPkiDir: dir,
      keyPass: undefined,
      clusterKeyPass: 'hunter2',
      signingKeyPass: undefined,
    };
    const keys = await loadOrCreateMasterKeys(shared, 2048, masterKeyOptions(settings));
    expect(keys.publicPem).not.toBe(own.publicPem);
    expect(readFileSync(join(shared, 'cluster.pem'), 'utf8')).toContain('ENCRYPTED');
    expect(existsSync(join(shared, 'salt1.pem'))).toBe(false);
    expect(existsSync(join(dir, 'master_sign.pem'))).toBe(true);
  });

  it('has a signing pair only when asked', async () => {
    expect((await loadOrCreateMasterKeys(dir)).sign).toBeUndefined();
    const { sign } = await loadOrCreateMasterKeys(dir, 2048, { signPubkey: true });
    expect(sign?.publicPem).toContain('BEGIN PUBLIC KEY');
    expect(await mode(join(dir, 'master_sign.pem'))).toBe('400');
  });
});

describe('KeyStore', () => {
  it('takes plain files for keys, and nothing else that lies there', async () => {
    await ensureKeyDirs(dir);
    const store = new KeyStore(dir);
    await store.put('web1', 'accepted', 'PEM');
    const at = (name: string): string => join(dir, 'minions', name);
    mkdirSync(at('dir'));
    writeFileSync(join(at('dir'), 'web2'), 'PEM');
    symlinkSync(join(dir, 'minions', 'web1'), at('link'));
    symlinkSync('nowhere', at('dangling'));
    symlinkSync(join(dir, 'minions'), at('loop'));
    execFileSync('mkfifo', [at('pipe')]);
    const socket = createServer().listen(at('socket'));
    await once(socket, 'listening');
    for (const name of ['.x', '*', 'a,b', ' a', '-rf', 'e\u0301']) writeFileSync(at(name), 'PEM');
    expect((await store.list()).accepted).toEqual(['web1']);
    expect(store.listSync().accepted).toEqual(['web1']);
    for (const name of ['dir', 'link', 'dangling', 'loop', 'pipe', 'socket', 'none']) {
      expect(await store.read(name), name).toEqual({});
      expect(store.readListed(name, ['accepted']), name).toEqual({});
      expect(await store.remove('accepted', name), name).toBe(false);
    }
    for (const name of ['.x', '*', 'a,b', '-rf']) {
      await expect(store.read(name), name).rejects.toMatchObject({ code: 'SALT_PKI_BAD_ID' });
    }
    // A directory of the same name on another shelf does not block a key.
    await store.put('dir', 'pending', 'PEM');
    expect(await store.read('dir')).toEqual({ state: 'pending', pub: 'PEM' });
    socket.close();
  });

  it('takes a directory among the stubs for none', async () => {
    await ensureKeyDirs(dir);
    mkdirSync(join(dir, 'minions_autosign', 'web1'));
    expect(await takeAutosignStub(dir, 'web1')).toBe(false);
  });

  it('moves a key as salt-key does and leaves dot files out', async () => {
    await ensureKeyDirs(dir);
    const store = new KeyStore(dir);
    await store.put('web1.example.com', 'pending', 'PEM\r\ntext \n');
    writeFileSync(join(dir, 'minions', '.key_cache'), '');
    expect(await store.read('web1.example.com')).toEqual({ state: 'pending', pub: 'PEM\ntext' });
    await store.put('web1.example.com', 'accepted', 'PEM\ntext');
    expect(await store.list()).toMatchObject({ accepted: ['web1.example.com'], pending: [] });
    expect(await store.move('web1.example.com', 'accepted', 'rejected')).toBe(true);
    expect((await store.read('web1.example.com')).state).toBe('rejected');
    expect(await store.remove('rejected', 'web1.example.com')).toBe(true);
    expect(await store.read('web1.example.com')).toEqual({});
  });

  it('removes what killed writers left, on each shelf', async () => {
    await ensureKeyDirs(dir);
    const hourAgo = new Date(Date.now() - 3_600_000);
    const shelves = ['', 'minions', 'minions_pre', 'minions_rejected', 'minions_denied'];
    const drafts = shelves.map((shelf) => join(dir, shelf, '.9-0123456789ab.new'));
    for (const draft of drafts) {
      writeFileSync(draft, '');
      utimesSync(draft, hourAgo, hourAgo);
    }
    await new KeyStore(dir).removeOldDrafts();
    expect(drafts.filter((draft) => existsSync(draft))).toEqual([]);
  });

  it('takes a rejected file as the state although an accepted one exists', async () => {
    await ensureKeyDirs(dir);
    const store = new KeyStore(dir);
    await store.write('accepted', 'm', 'A');
    await store.write('rejected', 'm', 'A');
    await store.write('denied', 'm', 'B');
    const files = { state: 'rejected', pub: 'A', denied: 'B' };
    expect(await store.read('m')).toEqual(files);
    expect(store.readListed('m', ['accepted', 'rejected', 'denied'])).toEqual(files);
  });

  it.each(['../x', 'a/b', '', '.', '..', '.hidden', 'a\0b', 'x'.repeat(300)])(
    'refuses %j as a name',
    async (id) => {
      await ensureKeyDirs(dir);
      const store = new KeyStore(dir);
      await expect(store.write('accepted', id, 'A')).rejects.toMatchObject({
        code: 'SALT_PKI_BAD_ID',
      });
      await expect(store.read(id)).rejects.toMatchObject({ code: 'SALT_PKI_BAD_ID' });
    },
  );

  it('says that it is away rather than empty', async () => {
    await expect(new KeyStore(dir).list()).rejects.toMatchObject({ code: 'SALT_PKI_STORE_AWAY' });
  });

  it('lists 20,000 keys', async () => {
    await ensureKeyDirs(dir);
    for (let n = 0; n < 20_000; n += 1) writeFileSync(join(dir, 'minions', `m${n}`), '');
    expect((await new KeyStore(dir).list()).accepted.length).toBe(20_000);
  }, 120_000);
});

describe('minion key files', () => {
  it('remember the master that was trusted first', async () => {
    const files = new MinionKeyFiles(dir);
    const { publicPem } = await files.loadOrCreate();
    expect((await files.loadOrCreate()).publicPem).toBe(publicPem);
    expect(await files.readMasterPub()).toBeUndefined();
    await files.writeMasterPub(`${publicPem}\r\n`);
    expect(await files.readMasterPub()).toBe(publicPem);
    expect(await files.removeMasterPub()).toBe(true);
  });
});

describe('autosign files', () => {
  it('have lines without comments, and none when others may write them', async () => {
    mkdirSync(dir);
    const path = join(dir, 'autosign.conf');
    writeFileSync(path, '# all\nweb*\n\n  db\\d+ \n', { mode: 0o644 });
    expect(await readSigningFile(path)).toEqual({ lines: ['web*', 'db\\d+'] });
    const { chmodSync } = await import('node:fs');
    chmodSync(path, 0o664);
    expect(await readSigningFile(path)).toMatchObject({ refused: 'group-writable' });
    const lax = await readSigningFile(path, { permissivePkiAccess: true });
    expect(lax.lines).toHaveLength(2);
    chmodSync(path, 0o666);
    const open = await readSigningFile(path, { permissivePkiAccess: true });
    expect(open).toEqual({ lines: [], refused: 'world-writable' });
  });

  it('a stub is used once and not when it is too old', async () => {
    await ensureKeyDirs(dir);
    writeFileSync(join(dir, 'minions_autosign', 'm'), '');
    expect(await takeAutosignStub(dir, 'm')).toBe(true);
    expect(await takeAutosignStub(dir, 'm')).toBe(false);
    writeFileSync(join(dir, 'minions_autosign', 'm'), '');
    const later = Date.now() + 121 * 60_000;
    expect(await takeAutosignStub(dir, 'm', { nowMs: later })).toBe(false);
    expect(await takeAutosignStub(dir, '../minions/m')).toBe(false);
  });
});
