import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readSigningFile, takeAutosignStub } from './autosign.ts';
import { ensureKeyDirs } from './key-dirs.ts';
import { KeyStore } from './key-store.ts';
import { loadOrCreateMasterKeys } from './master-keys.ts';
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
    rmSync(join(dir, 'master.pem'));
    const other = await loadOrCreateMasterKeys(dir, 2048, { id: 'salt1_master' });
    expect(readFileSync(join(dir, 'salt1.pem'), 'utf8').trim()).toBe(other.privatePem.trim());
    expect(readFileSync(join(dir, 'salt1.pub'), 'utf8').trim()).toBe(other.publicPem);
  });

  it('does not replace a private key it can not read', async () => {
    mkdirSync(dir);
    writeFileSync(join(dir, 'master.pem'), 'no key');
    await expect(loadOrCreateMasterKeys(dir)).rejects.toMatchObject({ code: 'SALT_PKI_BAD_KEY' });
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
