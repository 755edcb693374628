import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadMasterConfig, type MasterOptions } from '@brine/config';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Account } from './account.ts';
import { verifyEnv } from './verify-env.ts';

const isRoot = process.getuid?.() === 0;
const SELF: Account = {
  name: 'self',
  uid: process.getuid?.() ?? 0,
  gid: process.getgid?.() ?? 0,
  home: '',
  shell: '',
  isOther: false,
};
/** No user of this host: ids are all that files need. */
const OTHER: Account = { ...SELF, name: 'other', uid: 4711, gid: 4712, isOther: true };

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-verify-'));
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

function optionsOf(lines = ''): MasterOptions {
  writeFileSync(join(dir, 'master'), `root_dir: ${dir}\n${lines}`);
  return loadMasterConfig({ configDir: dir, env: {} }).options;
}

const modeOf = (path: string): string => (statSync(join(dir, path)).mode & 0o7777).toString(8);
const ownerOf = (path: string): number => statSync(join(dir, path)).uid;

const CACHE = 'var/cache/salt/master';
const PKI = 'etc/salt/pki/master';

test('a first start makes what a stock master makes, with its modes', async () => {
  await verifyEnv(optionsOf(), SELF);
  const shelves = ['minions', 'minions_pre', 'minions_denied', 'minions_autosign'];
  for (const path of ['', ...shelves.map((name) => `/${name}`), '/minions_rejected']) {
    expect([path, modeOf(PKI + path)]).toEqual([path, '700']);
  }
  for (const path of ['', '/jobs', '/proc', '/tokens', '/syndics']) {
    expect([path, modeOf(CACHE + path)]).toEqual([path, '755']);
  }
  expect(modeOf('var/run/salt/master')).toBe('755');
  expect(modeOf(`${CACHE}/brine`)).toBe('711');
  expect(modeOf('var/log/salt/master')).toBe('640');
});

test.each([
  ['777', '700'],
  ['755', '700'],
  ['750', '750'],
  ['700', '700'],
])('pki_dir with mode %s has %s afterwards', async (before, after) => {
  mkdirSync(join(dir, PKI), { recursive: true });
  chmodSync(join(dir, PKI), Number.parseInt(before, 8));
  await verifyEnv(optionsOf(), SELF);
  expect(modeOf(PKI)).toBe(after);
});

test('a second start changes nothing, whatever modes the operator has chosen', async () => {
  await verifyEnv(optionsOf(), SELF);
  chmodSync(join(dir, CACHE), 0o750);
  chmodSync(join(dir, 'var/log/salt/master'), 0o600);
  await verifyEnv(optionsOf(), SELF);
  expect([modeOf(CACHE), modeOf('var/log/salt/master')]).toEqual(['750', '600']);
});

test('the relay gets a log file of its own where one is named', async () => {
  await verifyEnv(optionsOf('syndic_log_file: /var/log/relay/syndic\n'), SELF);
  expect(['var/log/salt/master', 'var/log/relay/syndic'].map(modeOf)).toEqual(['640', '640']);
});

test('others may pass through a directory that is made for a log file', async () => {
  await verifyEnv(optionsOf('syndic_log_file: /var/log/relay/below/syndic\n'), SELF);
  expect(['var/log/salt', 'var/log/relay', 'var/log/relay/below'].map(modeOf)).toEqual(
    Array.from({ length: 3 }, () => '755'),
  );
});

test('with verify_env off nothing is made', async () => {
  await verifyEnv(optionsOf('verify_env: false\n'), SELF);
  expect(existsSync(join(dir, 'var'))).toBe(false);
});

test('with verify_env off the user still gets the state that root has begun', async (context) => {
  if (!isRoot) return context.skip('this is not root');
  const options = optionsOf('verify_env: false\n');
  mkdirSync(join(dir, CACHE, 'brine'), { recursive: true });
  writeFileSync(join(dir, CACHE, 'brine/master.lock'), '');
  await verifyEnv(options, OTHER);
  const owners = [`${CACHE}/brine`, `${CACHE}/brine/master.lock`, CACHE].map(ownerOf);
  expect(owners).toEqual([OTHER.uid, OTHER.uid, 0]);
});

test('the keys of a cluster get their directories too', async () => {
  await verifyEnv(optionsOf(`cluster_id: one\ncluster_pki_dir: ${dir}/shared\n`), SELF);
  expect(['shared', 'shared/peers', 'shared/minions', PKI].map(modeOf)).toEqual(
    Array.from({ length: 4 }, () => '700'),
  );
});

test('a file in the place of a directory is named, with the exit code of Salt', async () => {
  mkdirSync(join(dir, 'var/cache/salt'), { recursive: true });
  writeFileSync(join(dir, CACHE), '');
  await expect(verifyEnv(optionsOf(), SELF)).rejects.toMatchObject({
    exitCode: 17,
    message: `Failed to create directory path "${join(dir, CACHE)}" - file already exists (EEXIST)`,
  });
});

test('a log file that can not be made is named, with exit code 1', async () => {
  mkdirSync(join(dir, 'var/log/salt/master'), { recursive: true });
  await expect(verifyEnv(optionsOf(), SELF)).rejects.toMatchObject({
    exitCode: 1,
    message: expect.stringContaining(`Failed to create path "${join(dir, 'var/log/salt/master')}"`),
  });
});

test('a log that is a syslog, or none, has no file', async () => {
  await verifyEnv(optionsOf('log_file: file:///dev/log\n'), SELF);
  await verifyEnv(optionsOf('log_level_logfile: quiet\n'), SELF);
  expect(existsSync(join(dir, 'var/log'))).toBe(false);
});

test('root gives all of it to the user, and follows no link', async (context) => {
  if (!isRoot) return context.skip('this is not root');
  await verifyEnv(optionsOf(), SELF);
  writeFileSync(join(dir, PKI, 'minions', 'web1'), '');
  writeFileSync(join(dir, PKI, 'master.pem'), '');
  writeFileSync(join(dir, 'outside'), '');
  symlinkSync(join(dir, 'outside'), join(dir, PKI, 'minions', 'link'));
  await verifyEnv(optionsOf(), OTHER);
  const given = [PKI, `${PKI}/master.pem`, `${PKI}/minions/web1`, CACHE, `${CACHE}/brine`];
  expect([...given, 'var/run/salt/master', 'var/log/salt/master'].map(ownerOf)).toEqual(
    Array.from({ length: 7 }, () => OTHER.uid),
  );
  expect(['outside', 'var/log/salt', 'etc/salt'].map(ownerOf)).toEqual([0, 0, 0]);
});

test('root gives each log file to the user, below directories of its own', async (context) => {
  if (!isRoot) return context.skip('this is not root');
  await verifyEnv(optionsOf('syndic_log_file: /var/log/relay/syndic\n'), OTHER);
  const files = ['var/log/salt/master', 'var/log/relay/syndic'];
  expect(files.map(ownerOf)).toEqual([OTHER.uid, OTHER.uid]);
  expect(['var/log/salt', 'var/log/relay'].map(ownerOf)).toEqual([0, 0]);
});

test('root makes no file, and gives none, where a link of the user leads', async (context) => {
  if (!isRoot) return context.skip('this is not root');
  await verifyEnv(optionsOf(), SELF);
  rmSync(join(dir, 'var/log/salt/master'));
  writeFileSync(join(dir, 'of-root'), '');
  symlinkSync(join(dir, 'of-root'), join(dir, 'var/log/salt/master'));
  writeFileSync(join(dir, `${PKI}.brine-keys.alarm`), 'text');
  symlinkSync(join(dir, 'of-root'), join(dir, PKI, '.brine-keys.alarm'));
  await verifyEnv(optionsOf(), OTHER);
  expect([ownerOf('of-root'), ownerOf(`${PKI}/.brine-keys.alarm`)]).toEqual([0, OTHER.uid]);
  expect(readFileSync(join(dir, 'of-root'), 'utf8')).toBe('');
});

test('root closes no directory where a link of the user leads', async (context) => {
  if (!isRoot) return context.skip('this is not root');
  mkdirSync(join(dir, 'etc/salt/pki'), { recursive: true });
  mkdirSync(join(dir, 'of-root'));
  chmodSync(join(dir, 'of-root'), 0o755);
  symlinkSync(join(dir, 'of-root'), join(dir, PKI));
  await verifyEnv(optionsOf(), OTHER);
  expect([modeOf('of-root'), ownerOf('of-root')]).toEqual(['755', 0]);
});

test('a pki_dir behind a link of the operator is closed where no user is changed', async () => {
  mkdirSync(join(dir, 'etc/salt/pki'), { recursive: true });
  mkdirSync(join(dir, 'elsewhere'));
  chmodSync(join(dir, 'elsewhere'), 0o755);
  symlinkSync(join(dir, 'elsewhere'), join(dir, PKI));
  await verifyEnv(optionsOf(), SELF);
  expect(modeOf('elsewhere')).toBe('700');
});

test('the journal of the keys goes where its user can write', async (context) => {
  if (!isRoot) return context.skip('this is not root');
  await verifyEnv(optionsOf(), SELF);
  for (const suffix of ['', '.alarm']) {
    writeFileSync(join(dir, `${PKI}.brine-keys${suffix}`), `text${suffix}`);
  }
  writeFileSync(join(dir, `${PKI}.brine-keysother`), '');
  await verifyEnv(optionsOf(), OTHER);
  expect(readdirSync(join(dir, 'etc/salt/pki')).sort()).toEqual([
    'master',
    'master.brine-keysother',
  ]);
  for (const suffix of ['', '.alarm']) {
    const path = `${PKI}/.brine-keys${suffix}`;
    expect([readFileSync(join(dir, path), 'utf8'), ownerOf(path)]).toEqual([
      `text${suffix}`,
      OTHER.uid,
    ]);
  }
});

test('what others own below stays theirs where root itself serves', async (context) => {
  if (!isRoot) return context.skip('this is not root');
  await verifyEnv(optionsOf(), SELF);
  mkdirSync(join(dir, CACHE, 'brine/postgres'));
  chownSync(join(dir, CACHE, 'brine/postgres'), 4711, 4711);
  chownSync(join(dir, CACHE), 4711, 4711);
  await verifyEnv(optionsOf(), SELF);
  expect([ownerOf(CACHE), ownerOf(`${CACHE}/brine/postgres`)]).toEqual([0, 4711]);
});
