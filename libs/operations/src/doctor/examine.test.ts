import { generateKeyPairSync } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LoadedConfig, loadMasterConfig, type MasterOptions } from '@brine/config';
import { ensureKeyDirs } from '@brine/pki';
import { stateFile } from '@brine/service/processes';
import { natsCertificates } from '@brine/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkNode } from './check-node.ts';
import type { LogInVersions } from './check-versions.ts';
import { examine } from './examine.ts';

let dir: string;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'doctor-'));
  await ensureKeyDirs(join(dir, 'pki'));
  mkdirSync(join(dir, 'cache'), { mode: 0o700 });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function loadedWith(changed: Partial<MasterOptions> = {}): LoadedConfig<MasterOptions> {
  const { options } = loadMasterConfig({ configDir: '/nonexistent', env: {} });
  return {
    options: {
      ...options,
      pkiDir: join(dir, 'pki'),
      cachedir: join(dir, 'cache'),
      brine: { ...options.brine, stateDir: join(dir, 'cache') },
      ...changed,
    },
    warnings: [],
  };
}

const logIns = (versions: Readonly<Record<string, number>> = {}): LogInVersions =>
  async function* () {
    for (const [id, version] of Object.entries(versions)) yield { id, version };
  };

/** What is bad or weak, by the names of the checks. */
async function told(changed: Partial<MasterOptions> = {}): Promise<string[]> {
  const findings = await examine(loadedWith(changed), logIns());
  return findings.filter(({ level }) => level !== 'ok').map(({ check }) => check);
}

function keyOf(bits: number): string {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  return publicKey.export({ type: 'spki', format: 'pem' }).toString();
}

it('finds nothing bad in a master as it is made', async () => {
  writeFileSync(join(dir, 'pki', 'master.pem'), 'x', { mode: 0o400 });
  writeFileSync(join(dir, 'pki', 'master.pub'), keyOf(2048));
  // Whether the Node that runs this is old is a test of its own.
  expect((await told()).filter((check) => check !== 'node')).toEqual(['request_server_ttl']);
});

it('finds private files that others can read, and deciding ones that they can write', async () => {
  writeFileSync(join(dir, 'cache', '.root_key'), 'x');
  chmodSync(join(dir, 'cache', '.root_key'), 0o440);
  const autosignFile = join(dir, 'autosign');
  writeFileSync(autosignFile, '*');
  chmodSync(autosignFile, 0o666);
  const found = await told({ autosignFile });
  expect(found).toContain('private-files');
  expect(found).toContain('deciding-files');
  expect(await told({ autosignFile, permissivePkiAccess: true })).toContain('deciding-files');
});

it('finds short keys, keys that are none, and denied ones', async () => {
  writeFileSync(join(dir, 'pki', 'minions', 'short'), keyOf(1024));
  writeFileSync(join(dir, 'pki', 'minions', 'none'), 'x');
  writeFileSync(join(dir, 'pki', 'minions_denied', 'other'), keyOf(2048));
  const found = await told();
  for (const check of ['weak-keys', 'unusable-keys', 'denied-keys']) expect(found).toContain(check);
});

it('finds options that remove a protection, and servers without TLS', async () => {
  const { brine } = loadedWith().options;
  const found = await told({
    openMode: true,
    autoAccept: true,
    minimumAuthVersion: 0,
    rotateAesKey: false,
    brine: {
      ...brine,
      nats: { ...brine.nats, url: 'nats://broker.example:4222' },
      postgres: { ...brine.postgres, url: 'postgres://db.example/salt' },
    },
  });
  for (const check of [
    'open_mode',
    'auto_accept',
    'minimum_auth_version',
    'rotate_aes_key',
    'nats-exposed',
    'postgres-exposed',
  ]) {
    expect(found).toContain(check);
  }
});

it.each([
  ['postgres://u:pw@db1.example:5432,db2.example:5432/x', 'db1.example'],
  ['postgres://u:p@w,x@127.0.0.1:5432,[2001:db8::1]:5432/x', '[2001:db8::1]'],
  ['postgres://127.0.0.1,[::1]:5432,localhost/x', undefined],
  ['postgres:///x?host=/run/postgresql', undefined],
  ['postgres://db1.example,db2.example/x?sslmode=verify-full', undefined],
])('PostgreSQL at %s is exposed at %s', async (url, host) => {
  const { brine } = loadedWith().options;
  const changed = { brine: { ...brine, postgres: { ...brine.postgres, url } } };
  const findings = await examine(loadedWith(changed), logIns());
  const text = findings.find(({ check }) => check === 'postgres-exposed')?.text;
  expect(text?.split(' is reached')[0]).toBe(host && `postgres at ${host}`);
});

it.each([
  ['nats://n1:4222,nats://n2:4222', 'n1'],
  ['nats://u:pw@127.0.0.1:4222,u:pw@n2.example:4222', 'n2.example'],
  ['127.0.0.1:4222, [::1]:4222', undefined],
  ['tls://n1:4222,tls://n2:4222', undefined],
])('NATS at %s is exposed at %s', async (url, host) => {
  const { brine } = loadedWith().options;
  const changed = { brine: { ...brine, nats: { ...brine.nats, url } } };
  const findings = await examine(loadedWith(changed), logIns());
  const text = findings.find(({ check }) => check === 'nats-exposed')?.text;
  expect(text?.split(' is reached')[0]).toBe(host && `nats at ${host}`);
});

it('does not call private what it can not look at', async () => {
  // A file in place of a directory: root too can not list it.
  rmSync(join(dir, 'pki'), { recursive: true });
  writeFileSync(join(dir, 'pki'), '');
  const findings = await examine(loadedWith(), logIns());
  expect(findings.filter(({ check }) => check === 'private-files')).toEqual([]);
  const text = `${join(dir, 'pki')} can not be read (ENOTDIR): run this as root`;
  expect(findings).toContainEqual({ level: 'warn', check: 'unread-files', text });
  expect(findings).toContainEqual({ level: 'warn', check: 'keys', text });
});

const SECRET_FILES = ['nats/credentials.json', 'postgres/password', 'postgres/services-password'];

it.each(SECRET_FILES)('others must not read %s', async (path) => {
  const file = join(dir, 'cache', path);
  mkdirSync(join(file, '..'));
  writeFileSync(file, 'x', { mode: 0o600 });
  expect(await told()).not.toContain('private-files');
  chmodSync(file, 0o604);
  expect(await told()).toContain('private-files');
});

it.each([[['*']], [['syndic-*', '*']], [['**']], [['?*']], [['*.*']]])(
  'names order_masters with syndics %j',
  async (syndics) => {
    const { brine } = loadedWith().options;
    const open = { brine: { ...brine, syndics } };
    expect(await told({ ...open, orderMasters: true })).toContain('syndics');
    expect(await told({ ...open, orderMasters: false })).not.toContain('syndics');
    const some = { brine: { ...brine, syndics: ['syndic-*', 's?', '*.syndics.example'] } };
    expect(await told({ ...some, orderMasters: true })).not.toContain('syndics');
  },
);

it('names order_masters as it comes: any minion may be a syndic', async () => {
  expect(await told({ orderMasters: true })).toContain('syndics');
});

it('names files among the keys that are none', async () => {
  mkdirSync(join(dir, 'pki', 'minions', 'backup'));
  writeFileSync(join(dir, 'pki', 'minions_pre', 'a,b'), 'x');
  writeFileSync(join(dir, 'pki', 'minions', '.draft'), 'x');
  const findings = await examine(loadedWith(), logIns());
  const odd = findings.find(({ check }) => check === 'odd-key-files');
  expect(odd?.text).toMatch(/minions\/backup", ".*minions_pre\/a,b": /);
});

it('says for how many minions a running master has open files', async () => {
  const service = { name: 'publisher', pid: process.pid };
  writeFileSync(stateFile(join(dir, 'cache')), JSON.stringify({ services: [service] }));
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const limit = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1]);
  const findings = await examine(loadedWith(), logIns());
  const text = findings.find(({ check }) => check === 'open-files')?.text;
  expect(text).toBe(`room for ${limit - 512} minions`);
});

it('warns of a Node without security fixes', async () => {
  const findings = await examine(loadedWith(), logIns());
  expect(findings.find(({ check }) => check === 'node')?.text).toContain(process.versions.node);
  const now = Date.UTC(2026, 10, 25);
  expect(checkNode('20.20.2', now)).toMatchObject([
    { level: 'warn', text: expect.stringContaining('no security fixes since 2026-04-30') },
  ]);
  expect(checkNode('26.10.0', now)).toEqual([{ level: 'ok', check: 'node', text: '26.10.0' }]);
});

it('names what seals, as a fact', async () => {
  const findings = await examine(loadedWith(), logIns());
  const found = findings.find(({ check }) => check === 'crypto');
  expect(found).toMatchObject({
    level: 'ok',
    text: expect.stringMatching(/^(?:native|node, which is slower: the native part .+)$/),
  });
});

it('finds a clock that was set back', async () => {
  const file = join(dir, 'cache', 'x');
  writeFileSync(file, '');
  const later = Date.now() / 1000 + 3600;
  utimesSync(file, later, later);
  expect(await told()).toContain('clock');
});

it('names the accepted minions that each higher minimum_auth_version would cut off', async () => {
  for (const id of ['new', 'old', 'older', 'silent']) {
    writeFileSync(join(dir, 'pki', 'minions', id), keyOf(2048));
  }
  const versions = { new: 3, old: 2, older: 1, gone: 0 };
  const raised = async (minimumAuthVersion: number) =>
    (await examine(loadedWith({ minimumAuthVersion }), logIns(versions)))
      .filter(({ check }) => check === 'raised_auth_version')
      .map(({ level, text, minions }) => [level, text.split(' ', 2).join(' '), minions]);
  const unknown = ['warn', 'not on', ['silent']];
  expect(await raised(1)).toEqual([
    ['warn', 'minimum_auth_version: 2', ['older']],
    ['warn', 'minimum_auth_version: 3', ['old', 'older']],
    unknown,
  ]);
  expect(await raised(2)).toEqual([['warn', 'minimum_auth_version: 3', ['old', 'older']], unknown]);
  expect(await raised(3)).toEqual([]);
});

it('says so where the master can not be asked how minions log in', async () => {
  const away: LogInVersions = () => {
    throw new Error('no answer');
  };
  const findings = await examine(loadedWith({ minimumAuthVersion: 2 }), away);
  expect(findings.find(({ check }) => check === 'raised_auth_version')).toMatchObject({
    level: 'warn',
    text: 'it is unknown how minions log in: no answer',
  });
});

it('tells which certificates for NATS are open, broken, or at their end', async () => {
  const certificates = join(dir, 'pki', 'services');
  const { brine } = loadedWith().options;
  const nats = { ...brine.nats, url: 'tls://nats.example', certificates };
  const changed = { brine: { ...brine, nats } };
  const findings = async (): Promise<string[]> =>
    (await examine(loadedWith(changed), logIns()))
      .filter(({ check }) => check === 'certificates')
      .map(({ level, text }) => `${level} ${text}`);
  expect(await findings()).toEqual([expect.stringMatching(/^bad .*brine pki init/)]);
  await natsCertificates(certificates).init([], 90);
  expect(await findings()).toEqual(['ok 10 certificates are good']);
  await natsCertificates(certificates).renew(20);
  chmodSync(join(certificates, 'publisher', 'tls.key'), 0o644);
  rmSync(join(certificates, 'req-gateway', 'tls.crt'));
  expect(await findings()).toEqual([
    expect.stringMatching(/^bad publisher: others can read/),
    expect.stringMatching(/^bad req-gateway: no certificate/),
    expect.stringMatching(/^warn worker-pool, runner-pool, .*nats: it ends within 30 days/),
  ]);
});

it('has a row for each option that is set and not in force', async () => {
  const config = 'worker_threads: 40\nssl: true\ngitfs_provider: pygit2\nzzz: 1\n';
  writeFileSync(join(dir, 'master'), `root_dir: ${dir}\n${config}`);
  const findings = await examine(loadMasterConfig({ configDir: dir, env: {} }), logIns());
  const rows = findings.filter(({ text }) => /^(?:Option|Unknown option) /.test(text));
  expect(rows.map(({ level, check }) => [level, check])).toEqual([
    ['bad', 'ssl'],
    ['warn', 'zzz'],
    ['warn', 'worker_threads'],
    ['ok', 'gitfs_provider'],
  ]);
  expect(rows[0]?.text).toMatch(/line 3, is not in force: .*; the master does not start with it$/);
});
