import { createHash } from 'node:crypto';
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { lookupUser } from '@brine/cachedir';
import { loadMasterConfig } from '@brine/config';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { filePart } from '../file-records.ts';
import type { Manifest } from '../manifest.ts';
import { type HostFile, hostFiles } from './host-files.ts';
import { hostOptions, restoredConfig, RestoreFiles } from './restore-files.ts';

let dir: string;

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'brine-host-files-')));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function put(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text, { mode });
}

/** A master with a key, a list, and a configuration in three files. */
function master(): void {
  put(
    'etc/master',
    `root_dir: ${dir}\npki_dir: pki\nautosign_file: lists/autosign\ninclude: more.conf\n`,
  );
  put('etc/master.d/a.conf', 'timeout: 7\n', 0o600);
  put('etc/more.conf', 'worker_threads: 3\n');
  put('pki/master.pem', 'a secret', 0o400);
  put('pki/minions/web-1', 'a key');
  put('pki/minions/.1-ab.new', 'half of a key');
  put('pki/.brine-keys', 'a journal');
  put('pki/services/store/key.pem', 'a certificate', 0o600);
  put('lists/autosign', '*.example\n');
  symlinkSync('minions', join(dir, 'pki/link'));
}

async function taken(): Promise<HostFile[]> {
  const { options } = loadMasterConfig({ configDir: join(dir, 'etc'), env: {} });
  const files: HostFile[] = [];
  for await (const file of hostFiles(options)) files.push(file);
  return files;
}

/** As a backup of these files says. */
function backupOf(files: readonly HostFile[]): {
  readonly manifest: Manifest;
  readonly kept: Map<string, Buffer>;
} {
  const parts = files.map(({ record, data }) => ({
    name: filePart(record),
    pieces: 1,
    bytes: data.length,
    sha256: createHash('sha256').update(data).digest('hex'),
  }));
  const manifest = { files: files.map(({ record }) => record), parts } as unknown as Manifest;
  return {
    manifest,
    kept: new Map(files.map((one) => [filePart(one.record), Buffer.from(one.data)])),
  };
}

async function restoring(files: readonly HostFile[], keepsCertificates = false) {
  const { manifest, kept } = backupOf(files);
  const config = await restoredConfig(hostOptions(join(dir, 'etc')), manifest, kept);
  return { config, restore: new RestoreFiles(manifest, config, undefined, keepsCertificates) };
}

test('configuration, lists and keys are taken, drafts and the journal are not', async () => {
  master();
  const names = (await taken()).map(({ record }) => filePart(record));
  expect(names).toEqual([
    'files/config/master.d/a.conf',
    'files/config/more.conf',
    'files/config/master',
    `files/host${dir}/lists/autosign`,
    'files/pki/link',
    'files/pki/master.pem',
    'files/pki/minions/web-1',
    'files/certificates/store/key.pem',
  ]);
});

test('on an empty host all files stand where they stood, with their modes', async () => {
  master();
  const files = await taken();
  for (const name of ['etc', 'pki', 'lists']) rmSync(join(dir, name), { recursive: true });
  const { config, restore } = await restoring(files);
  expect(config).toMatchObject({ isOfBackup: true, options: { timeout: 7, workerThreads: 3 } });
  expect(await restore.conflicts()).toEqual([]);
  for (const { record, data } of files) await restore.put(record, data);
  expect(await taken()).toEqual(files);
  expect(statSync(join(dir, 'pki/master.pem')).mode & 0o777).toBe(0o400);
  expect(statSync(join(dir, 'pki')).mode & 0o777).toBe(0o700);
  expect(readlinkSync(join(dir, 'pki/link'))).toBe('minions');
  // A run that was killed is done again.
  const again = await restoring(files);
  expect(await again.restore.conflicts()).toEqual([]);
  for (const { record, data } of files) await again.restore.put(record, data);
});

test('of a link that leads out of the keys the content is taken', async () => {
  master();
  put('git/master', `root_dir: ${dir}\npki_dir: pki\n`, 0o640);
  rmSync(join(dir, 'etc/master'));
  symlinkSync('../git/master', join(dir, 'etc/master'));
  put('vault/secret.pem', 'a far secret', 0o400);
  symlinkSync(join(dir, 'vault/secret.pem'), join(dir, 'pki/far.pem'));
  symlinkSync(join(dir, 'pki/master.pem'), join(dir, 'pki/minions/near.pem'));
  symlinkSync('nowhere', join(dir, 'pki/dangling'));
  const files = await taken();
  const of = (name: string) => files.find(({ record }) => filePart(record) === `files/${name}`);
  expect(of('config/master')?.record).toMatchObject({ mode: 0o640 });
  expect(of('pki/far.pem')?.record).not.toHaveProperty('link');
  expect(of('pki/minions/near.pem')?.record).toMatchObject({ link: '../master.pem' });
  expect(of('pki/dangling')?.record).toMatchObject({ link: 'nowhere' });
  for (const name of ['etc', 'pki', 'git', 'vault']) rmSync(join(dir, name), { recursive: true });
  const { config, restore } = await restoring(files);
  expect(config.isOfBackup).toBe(true);
  for (const { record, data } of files) await restore.put(record, data);
  expect(readFileSync(join(dir, 'pki/far.pem'), 'utf8')).toBe('a far secret');
  expect(statSync(join(dir, 'pki/far.pem')).mode & 0o777).toBe(0o400);
  expect(readFileSync(join(dir, 'pki/minions/near.pem'), 'utf8')).toBe('a secret');
});

test('a link to a directory elsewhere is named: its files would be missing', async () => {
  master();
  put('shared/minions/web-1', 'a key');
  for (const name of ['link', 'minions']) rmSync(join(dir, 'pki', name), { recursive: true });
  symlinkSync(join(dir, 'shared/minions'), join(dir, 'pki/minions'));
  await expect(taken()).rejects.toThrow(
    `${dir}/pki/minions is a link to a directory elsewhere (${dir}/shared/minions)`,
  );
});

test('a configuration of which a backup has a link alone is asked for', async () => {
  master();
  const files = (await taken()).map(({ record, data }) =>
    filePart(record) === 'files/config/master'
      ? { record: { ...record, link: '/srv/git/master' }, data: Buffer.alloc(0) }
      : { record, data },
  );
  for (const name of ['etc', 'pki']) rmSync(join(dir, name), { recursive: true });
  await expect(restoring(files)).rejects.toMatchObject({
    message: expect.stringContaining('etc/master only as a link to /srv/git/master') as string,
  });
});

test('a stub of autosign is as old as it was', async () => {
  master();
  put('pki/minions_autosign/web-2', '');
  const old = new Date('2026-11-25T12:00:00.123Z');
  utimesSync(join(dir, 'pki/minions_autosign/web-2'), old, old);
  const files = await taken();
  for (const name of ['etc', 'pki']) rmSync(join(dir, name), { recursive: true });
  const { restore } = await restoring(files);
  for (const { record, data } of files) await restore.put(record, data);
  expect(Math.round(statSync(join(dir, 'pki/minions_autosign/web-2')).mtimeMs)).toBe(+old);
  // A run that was killed between both.
  utimesSync(join(dir, 'pki/minions_autosign/web-2'), new Date(), new Date());
  for (const { record, data } of files) await restore.put(record, data);
  expect(Math.round(statSync(join(dir, 'pki/minions_autosign/web-2')).mtimeMs)).toBe(+old);
});

test('files of root keep their group, also the one of the master', async (context) => {
  if (process.getuid?.() !== 0) return context.skip('only root gives files away');
  const daemon = await lookupUser('daemon');
  const gid = daemon?.gid ?? 0;
  master();
  put('etc/master', `root_dir: ${dir}\npki_dir: pki\nuser: daemon\ninclude: more.conf\n`);
  chownSync(join(dir, 'etc/master.d/a.conf'), 0, gid);
  chownSync(join(dir, 'etc/more.conf'), 0, 4_567);
  chownSync(join(dir, 'pki/master.pem'), daemon?.uid ?? 0, gid);
  const files = await taken();
  const of = (name: string) => files.find(({ record }) => filePart(record) === `files/${name}`);
  expect(of('config/master.d/a.conf')?.record.owner).toBe('root:user');
  expect(of('config/more.conf')?.record.owner).toBe('0:4567');
  expect(of('config/master')?.record.owner).toBe('root');
  for (const name of ['etc', 'pki']) rmSync(join(dir, name), { recursive: true });
  const { manifest, kept } = backupOf(files);
  const config = await restoredConfig(hostOptions(join(dir, 'etc')), manifest, kept);
  // The user has other numbers on the new host.
  const restore = new RestoreFiles(manifest, config, { uid: 4_001, gid: 4_002 }, false);
  for (const { record, data } of files) await restore.put(record, data);
  const ownerOf = (path: string) => {
    const { uid, gid: group } = statSync(join(dir, path));
    return [uid, group];
  };
  expect(ownerOf('etc/master.d/a.conf')).toEqual([0, 4_002]);
  expect(ownerOf('etc/more.conf')).toEqual([0, 4_567]);
  expect(ownerOf('etc/master')).toEqual([0, 0]);
  expect(ownerOf('pki/master.pem')).toEqual([4_001, 4_002]);
});

test('keys of another master are named, also those that the backup does not know', async () => {
  master();
  const files = await taken();
  writeFileSync(join(dir, 'pki/minions/web-1'), 'another key');
  put('pki/minions/web-2', 'a key');
  put('lists/autosign', '*\n');
  put('pki.brine-keys', 'a journal');
  rmSync(join(dir, 'pki/.brine-keys'));
  const { restore } = await restoring(files);
  const found = ['pki.brine-keys', 'lists/autosign', 'pki/minions/web-1', 'pki/minions/web-2'];
  expect(await restore.conflicts()).toEqual(found.map((path) => join(dir, path)));
});

test('a configuration of the host stays, and so do its certificates', async () => {
  master();
  const files = await taken();
  rmSync(join(dir, 'pki'), { recursive: true });
  rmSync(join(dir, 'etc/master.d'), { recursive: true });
  put('etc/master', `root_dir: ${dir}\npki_dir: pki\ntimeout: 9\n`);
  put('pki/services/store/key.pem', 'of this host');
  const { config, restore } = await restoring(files, true);
  expect(config).toMatchObject({ isOfBackup: false, options: { timeout: 9 } });
  expect(await restore.conflicts()).toEqual([]);
  for (const { record, data } of files) await restore.put(record, data);
  expect(readFileSync(join(dir, 'etc/master'), 'utf8')).toContain('timeout: 9');
  expect(() => statSync(join(dir, 'etc/master.d'))).toThrow('ENOENT');
  expect(readFileSync(join(dir, 'pki/services/store/key.pem'), 'utf8')).toBe('of this host');
  expect(readFileSync(join(dir, 'pki/master.pem'), 'utf8')).toBe('a secret');
});

test('a part of the configuration elsewhere is asked for, since it may say where all goes', async () => {
  master();
  put('far/one.conf', 'timeout: 3\n');
  put('etc/master', `root_dir: ${dir}\npki_dir: pki\ninclude: ${dir}/far/one.conf\n`);
  const files = await taken();
  for (const name of ['etc', 'pki', 'far']) rmSync(join(dir, name), { recursive: true });
  await expect(restoring(files)).rejects.toMatchObject({
    message: expect.stringContaining(`includes ${dir}/far/one.conf, which is not on this host`),
  });
});

test.each(['../x', '/etc/x', 'a/../../x', ''])('the path %j leads nowhere else', async (path) => {
  master();
  const [file] = await taken();
  if (file === undefined) throw new Error('no file');
  const { restore } = await restoring([]);
  const record = { ...file.record, root: 'pki' as const, path };
  await expect(restore.put(record, file.data)).rejects.toThrow('leads elsewhere');
});
