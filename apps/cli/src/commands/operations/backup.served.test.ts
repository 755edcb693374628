import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  checkBackup,
  hostOptions,
  isConfigEntry,
  putBack,
  readArchive,
  restoredConfig,
  RestoreFiles,
  RestoreTarget,
} from '@brine/backup';
import { readMarker } from '@brine/backup/marker';
import { Bucket, type Bus, escapeKey, STREAMS } from '@brine/bus';
import { EventReader, EventWriter } from '@brine/bus/events';
import { lastSequences, readerPlaces } from '@brine/bus/snapshots';
import { lookupUser } from '@brine/cachedir';
import { loadMasterConfig } from '@brine/config';
import { JobCache } from '@brine/job-cache';
import {
  jobRow,
  letPass,
  makeDatabase,
  returnRow,
  startNats,
  type TestDatabase,
  type TestNats,
} from '@brine/testing';
import { mapOf, pack } from '@brine/wire';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Printed, printedBy } from '../../printed.fixture.ts';

const JID = '20241125120000000001';
const ARCHIVED = '20201125120000000001';
const EVENTS = 2_500;
const READ = 1_000;
const LARGE = Buffer.alloc(400_000, 'x');

let dir: string;
let file: string;
let nats: TestNats;
let database: TestDatabase;
let empty: { nats: TestNats; database: TestDatabase };

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'backup-'));
  letPass(dir);
  file = join(dir, 'brine.tar.gz');
  nats = await startNats();
  database = await makeDatabase();
  await fill();
});
afterAll(async () => {
  await nats.close();
  await database.drop();
  rmSync(dir, { recursive: true, force: true });
});
beforeEach(async () => {
  empty = { nats: await startNats({ streams: false }), database: await makeDatabase() };
});
afterEach(async () => {
  await empty.nats.close();
  await empty.database.drop();
  rmSync(join(dir, 'new'), { recursive: true, force: true });
});

/** A master that has run: events of which a reader has some, large ones, keys, jobs, an archive. */
async function fill(): Promise<void> {
  const bus = await nats.connect('event-bus');
  const events = new EventWriter(bus);
  const one = (at: number, body = pack(mapOf({ at }))) =>
    events.append({ kind: 'minion', tag: `test/${at}`, body });
  for (let at = 0; at < EVENTS; at += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, more) => one(at + more)));
  }
  await one(EVENTS, LARGE);
  const store = await nats.connect('job-cache-returner');
  const reader = new EventReader(store, { durable: 'store' });
  let read = 0;
  for await (const event of reader) {
    event.ack();
    if ((read += 1) === READ) break;
  }
  reader.close();
  await store.flush();
  const keys = new Bucket(bus, 'brine_keys');
  for (let at = 0; at < 300; at += 1) await keys.put(escapeKey(`web-${at}`), Buffer.from(`${at}`));
  // Only days that are near have tables of their own, which the archive takes.
  const past = await JobCache.connect(database.url, { now: () => Date.parse('2020-11-26') });
  await past.saveJobs([jobRow(ARCHIVED, { publishedAt: 1_000 })]);
  await past.saveReturns([returnRow(ARCHIVED, 'm1', true)]);
  await past.archiveOlderThan(Date.parse('2021-01-01'));
  await past.close();
  const cache = await JobCache.connect(database.url);
  await cache.saveJobs([jobRow(JID)]);
  await cache.saveReturns([returnRow(JID, 'm1', true)]);
  await cache.close();
}

/** A configuration directory that names servers. */
function home(
  name: string,
  servers: { nats: TestNats; database: TestDatabase },
  more = `user: ${process.getuid?.() === 0 ? 'root' : 'x'}\n`,
): string {
  const at = join(dir, name);
  mkdirSync(at, { recursive: true });
  const places = { pki_dir: 'pki', cachedir: 'cache', sock_dir: 'sock', pidfile: 'pid' };
  const lines = Object.entries(places).map(([option, place]) => `${option}: ${at}/${place}\n`);
  const brine = { nats: { url: servers.nats.urls.admin }, postgres: { url: servers.database.url } };
  writeFileSync(join(at, 'master'), `${lines.join('')}${more}brine: ${JSON.stringify(brine)}\n`);
  return at;
}

/** A restore has the key of the host that made the backup. */
function brine(...args: readonly string[]): Promise<Printed> {
  const key =
    args[0] === 'restore' && !args.includes('--without-mac') && !args.includes('--key-file');
  return printedBy([...args, ...(key ? ['--key-file', keyOf('old')] : [])]);
}

const keyOf = (name: string): string => join(dir, name, 'pki', 'backup.key');

async function backup(): Promise<string> {
  const old = home('old', { nats, database });
  const key = join(old, 'pki', 'minions', 'web-1');
  mkdirSync(dirname(key), { recursive: true });
  writeFileSync(key, 'a key');
  const { code, out, err } = await brine('backup', file, '-c', old);
  expect(code, err).toBe(0);
  return out;
}

/** What a master would find. */
async function found(servers: { nats: TestNats; database: TestDatabase }) {
  const bus = await servers.nats.connect('event-bus');
  const cache = await JobCache.connect(servers.database.url);
  const keys: Record<string, string> = {};
  for await (const { key, value } of new Bucket(bus, 'brine_keys').entries()) {
    keys[key] = Buffer.from(value).toString();
  }
  const jobs = [await cache.getJob(JID), [...(await cache.getJid(JID)).returns.keys()]];
  await cache.close();
  const places = (await readerPlaces(bus)).map(({ reader, ackFloor }) => [reader, ackFloor]);
  return { keys, jobs, places };
}

test('a master is the same on another host: streams, readers, buckets, tables, keys', async () => {
  const out = await backup();
  expect(out).toMatch(/^mark: 20\d\d-.*; last job \d{20}$/m);
  expect(out).toContain(`streams: ${EVENTS + 1} events`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const target = home('new', empty);
  const dry = await brine('restore', file, '-c', target, '--dry-run');
  expect(dry).toMatchObject({
    code: 0,
    out: expect.stringContaining('NATS and PostgreSQL can take'),
  });
  expect(existsSync(join(target, 'pki'))).toBe(false);

  const { code, err } = await brine('restore', file, '-c', target);
  expect(err).toBe('');
  expect(code).toBe(0);
  expect(await found(empty)).toEqual(await found({ nats, database }));
  expect(readFileSync(join(target, 'pki/minions/web-1'), 'utf8')).toBe('a key');
  expect(readMarker(join(target, 'cache/brine'))).toBeUndefined();
  await expectRest(await empty.nats.connect('job-cache-returner'));
});

test("the master's user owns the directories of keys, also of a cluster", async (context) => {
  if (process.getuid?.() !== 0) return context.skip('only root gives files away');
  const shared = (at: string): string =>
    `user: daemon\ncluster_id: c1\ncluster_pki_dir: ${at}/shared\n`;
  const old = home('old-cluster', { nats, database }, shared(join(dir, 'old-cluster')));
  for (const path of ['pki/master.pem', 'shared/cluster.pem']) {
    mkdirSync(dirname(join(old, path)), { recursive: true });
    writeFileSync(join(old, path), 'a key', { mode: 0o400 });
  }
  expect((await brine('backup', file, '-c', old)).err).toBe('');
  const target = home('new-cluster', empty, shared(join(dir, 'new-cluster')));
  const key = ['--key-file', keyOf('old-cluster')];
  expect((await brine('restore', file, '-c', target, ...key)).err).toBe('');
  const daemon = await lookupUser('daemon');
  for (const path of ['pki', 'pki/master.pem', 'shared', 'shared/cluster.pem']) {
    expect(statSync(join(target, path)).uid, path).toBe(daemon?.uid);
  }
});

/** The reader goes on from its place, and gets what comes after the restore. */
async function expectRest(store: Bus): Promise<void> {
  const events = new EventWriter(await empty.nats.connect('event-bus'));
  const added = await events.append({ kind: 'minion', tag: 'test/new', body: pack(mapOf({})) });
  expect(added.seq).toBeGreaterThan(
    (await lastSequences(await nats.connect('admin')))[STREAMS.events] ?? 0,
  );
  const reader = new EventReader(store, { durable: 'store' });
  const tags: string[] = [];
  for await (const event of reader) {
    if (event.tag === `test/${EVENTS}`) {
      expect(LARGE.equals(await event.fetch())).toBe(true);
    }
    event.ack();
    tags.push(event.tag);
    if (event.tag === 'test/new') break;
  }
  reader.close();
  const wanted = Array.from({ length: EVENTS + 1 - READ }, (_, at) => `test/${READ + at}`);
  expect([...new Set(tags)].sort()).toEqual([...wanted, 'test/new'].sort());
}

test('tables of the archive, sequences and the schema come back', async () => {
  await backup();
  const target = home('new', empty);
  expect((await brine('restore', file, '-c', target)).err).toBe('');
  const again = join(dir, 'again.tar.gz');
  expect((await brine('backup', again, '-c', target)).err).toBe('');
  const [first, second] = await Promise.all(
    [file, again].map(async (one) => (await checkBackup(readArchive(one))).manifest),
  );
  expect(second?.database).toEqual(first?.database);
  const tablesOf = (manifest = first) =>
    manifest?.parts
      .filter(({ name }) => name.startsWith('tables/'))
      .map(({ name, sha256 }) => [name, sha256]);
  expect(tablesOf(second)).toEqual(tablesOf());
  expect(first?.database.head['archived']).toContain(`jobs_${ARCHIVED.slice(0, 8)}`);
});

test('it is refused where something is, in one line each, and nothing is written', async () => {
  await backup();
  const full = home('new', { nats, database: empty.database });
  expect(await brine('restore', file, '-c', full)).toMatchObject({
    code: 1,
    err: expect.stringMatching(
      /^brine restore: NATS is not empty: the stream EVENTS is in use\. .*\n$/,
    ),
  });
  home('new', { nats: empty.nats, database });
  expect(await brine('restore', file, '-c', full)).toMatchObject({
    code: 1,
    err: expect.stringMatching(
      /^brine restore: PostgreSQL is not empty: brine\.\w+ has rows\. .*\n$/,
    ),
  });
  mkdirSync(join(full, 'pki'));
  writeFileSync(join(full, 'pki/master.pem'), 'of another master');
  home('new', empty);
  expect(await brine('restore', file, '-c', full)).toMatchObject({
    code: 1,
    err: expect.stringContaining('this host has files of another master'),
  });
  expect(readdirSync(join(full, 'pki'))).toEqual(['master.pem']);
});

test('a damaged file is refused before anything is written', async () => {
  await backup();
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.subarray(0, bytes.length - 100));
  const target = home('new', empty);
  expect(await brine('restore', file, '-c', target)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^brine restore: .*: it is damaged or cut off .*\n$/),
  });
  expect(existsSync(join(target, 'pki'))).toBe(false);
});

test('a restore that was killed at any part is ended by the same command', async () => {
  await backup();
  const target = home('new', empty);
  const { manifest, kept } = await checkBackup(readArchive(file), isConfigEntry);
  const parts = ['streams/PUBLICATIONS', 'values/KV_brine_keys', 'tables/brine.returns', 'readers'];
  const { options } = loadMasterConfig({ configDir: target });
  for (const part of parts) {
    const config = await restoredConfig(hostOptions(target), manifest, kept);
    const files = new RestoreFiles(manifest, config, undefined, false);
    const servers = { bus: await empty.nats.connect('admin'), postgresUrl: empty.database.url };
    const of = { manifest, file, keepsCertificates: false, without: [] };
    const killed = await RestoreTarget.open(options, servers, files, of);
    await killed.begin();
    const run = putBack(readArchive(file), manifest, killed, (name) => {
      if (name === part) throw new Error('killed');
    });
    await expect(run).rejects.toThrow('killed');
    await killed.close();
    expect(readMarker(options.brine.stateDir)?.backup).toBe(manifest.name);
  }
  const { code, out, err } = await brine('restore', file, '-c', target);
  expect(code, err).toBe(0);
  expect(out).toContain('resuming: an earlier run did not finish');
  expect(await found(empty)).toEqual(await found({ nats, database }));
});

test('a backup that is not proven is refused with the remedy', async () => {
  await backup();
  const target = home('new', empty);
  const alone = await printedBy(['restore', file, '-c', target]);
  expect(alone).toMatchObject({ code: 1 });
  expect(alone.err).toContain(
    `${target}/pki/backup.key, the key that proves the backup, is missing`,
  );
  expect(alone.err).toMatch(/--key-file FILE\)\. Use --without-mac only if .*\n$/);
  const other = join(dir, 'other.key');
  writeFileSync(other, `${'A'.repeat(43)}\n`);
  const wrong = await brine('restore', file, '-c', target, '--key-file', other);
  expect(wrong.err).toContain(`the backup does not match the key in ${other}: it was changed`);
  writeFileSync(other, 'no key');
  const odd = await brine('restore', file, '-c', target, '--key-file', other);
  expect(odd.err).toContain(`${other}: it is no key of backups`);
  expect(existsSync(join(target, 'pki'))).toBe(false);

  const { code, err } = await brine('restore', file, '-c', target, '--without-mac');
  expect(code, err).toBe(0);
  expect(readFileSync(join(target, 'pki/minions/web-1'), 'utf8')).toBe('a key');
  expect(existsSync(join(target, 'pki/backup.key'))).toBe(false);
});

test('the key is made once, is in no backup, and goes on to the new host', async () => {
  await backup();
  const key = readFileSync(keyOf('old'), 'utf8');
  expect(statSync(keyOf('old')).mode & 0o777).toBe(0o600);
  const out = await backup();
  expect(out).toContain(`key: ${keyOf('old')}\n`);
  expect(readFileSync(keyOf('old'), 'utf8')).toBe(key);
  const { manifest } = await checkBackup(readArchive(file));
  expect(manifest.files.map(({ path }) => path)).not.toContain('backup.key');
  const target = home('new', empty);
  expect((await brine('restore', file, '-c', target)).err).toBe('');
  expect(readFileSync(join(target, 'pki/backup.key'), 'utf8')).toBe(key);
});

test('without a proof the configuration of the backup is not put', async () => {
  await backup();
  const target = join(dir, 'new');
  mkdirSync(target);
  const { code, err } = await brine('restore', file, '-c', target, '--without-mac');
  expect(code).toBe(1);
  expect(err).toContain(`tar -xzOf FILE files/config/master), put it to ${target}/master`);
  expect(readdirSync(target)).toEqual([]);
});

test('without work no reactions and no runs come back', async () => {
  await backup();
  const target = home('new', empty);
  expect((await brine('restore', file, '-c', target, '--without-work')).err).toBe('');
  const admin = await empty.nats.connect('admin');
  const { code } = await brine('backup', file, '-c', target);
  expect(code).toBe(0);
  const { manifest } = await checkBackup(readArchive(file));
  const names = manifest.streams.map(({ name }) => name);
  expect(names).toContain('EVENTS');
  expect(names).not.toContain('REACTIONS');
  expect(names).not.toContain('KV_brine_runs');
  await admin.close();
});

test('a backup that breaks off leaves the file of before and nothing else', async () => {
  await backup();
  const before = readFileSync(file);
  const target = home('new', empty);
  expect(await brine('backup', file, '-c', target)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^brine backup: .*\n$/),
  });
  expect(readFileSync(file).equals(before)).toBe(true);
  expect(readdirSync(dir).filter((name) => name.endsWith('.part'))).toEqual([]);
});
