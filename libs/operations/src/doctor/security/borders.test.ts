import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVICE_NAMES } from '@brine/bus';
import { loadMasterConfig, type MasterOptions } from '@brine/config';
import { ensureKeyDirs } from '@brine/pki';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Finding } from '../../findings/finding.ts';
import { checkConfiguration } from './check-configuration.ts';
import { checkModes } from './check-modes.ts';
import { checkProcesses } from './check-processes.ts';
import { checkServerUsers } from './check-server-users.ts';
import { checkWidened } from './check-widened.ts';
import { examineBorders } from './examine-borders.ts';
import { addressIn, type ProcessSeen } from './processes.ts';

const OWN = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

let dir: string;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'borders-'));
  await ensureKeyDirs(join(dir, 'pki'));
  for (const name of ['cache', 'sock', 'state', 'config']) mkdirSync(join(dir, name), 0o700);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

type Brine = MasterOptions['brine'];

function optionsWith(
  changed: Partial<MasterOptions> = {},
  brine: Partial<Brine> = {},
): MasterOptions {
  const { options } = loadMasterConfig({ configDir: '/nonexistent', env: {} });
  return {
    ...options,
    pkiDir: join(dir, 'pki'),
    cachedir: join(dir, 'cache'),
    sockDir: join(dir, 'sock'),
    configDir: join(dir, 'config'),
    confFile: join(dir, 'config', 'master'),
    ...changed,
    brine: { ...options.brine, stateDir: join(dir, 'state'), ...brine },
  };
}

/** Levels and checks of what is not as it should be. */
function wrong(findings: readonly Finding[]): string[] {
  return findings.flatMap(({ level, check }) => (level === 'ok' ? [] : [`${level} ${check}`]));
}

function put(path: string, mode: number, text = 'x'): string {
  const file = join(dir, path);
  rmSync(file, { force: true });
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
}

describe('files', () => {
  test('a master as it is made has nothing wrong', async () => {
    put('cache/.root_key', 0o600);
    put('pki/master.pem', 0o400);
    put('pki/master.pub', 0o644);
    mkdirSync(join(dir, 'state/postgres'), 0o711);
    expect(wrong(await checkModes(optionsWith(), OWN))).toEqual([]);
  });

  test.each([
    ['cache/.root_key', 0o640],
    ['pki/master.pem', 0o440],
    ['state/services.json', 0o644],
    ['state/nats.conf', 0o604],
    ['cache/new-file', 0o606],
    ['sock/master_event_pull.ipc', 0o620],
    ['sock/master_event_pub.ipc', 0o640],
  ])('%s with mode %o is open', async (path, mode) => {
    const file = put(path, mode);
    const findings = await checkModes(optionsWith(), OWN);
    expect(wrong(findings)).toEqual(['bad file-modes']);
    expect(findings[0]?.text).toContain(`${file} (0${mode.toString(8)}, chmod 0`);
  });

  test('options open what they are for, and no more', async () => {
    put('sock/master_event_pub.ipc', 0o660);
    put('pki/master.pem', 0o440);
    chmodSync(join(dir, 'pki'), 0o750);
    const asked = { permissivePkiAccess: true, publisherAcl: { anne: ['test.*'] } };
    expect(wrong(await checkModes(optionsWith(asked), OWN))).toEqual([]);
    expect(wrong(await checkModes(optionsWith(), OWN))).toEqual(['bad file-modes']);
    put('pki/master.pem', 0o444);
    expect(wrong(await checkModes(optionsWith(asked), OWN))).toEqual(['bad file-modes']);
  });

  test('files of another user are named', async () => {
    put('cache/grains', 0o600);
    const other = { uid: OWN.uid + 1, gid: OWN.gid };
    // Root may own what the master uses.
    const expected = OWN.uid === 0 ? [] : ['bad file-owners', 'bad parent-directories'];
    expect(wrong(await checkModes(optionsWith(), other))).toEqual(expected);
  });

  test('jobs that any user can read are named', async () => {
    mkdirSync(join(dir, 'cache/jobs'), 0o755);
    chmodSync(join(dir, 'cache/jobs'), 0o755);
    chmodSync(join(dir, 'cache'), 0o755);
    expect(wrong(await checkModes(optionsWith(), OWN))).toEqual(['warn job-files']);
  });

  test('a directory above that others may write is named', async () => {
    chmodSync(dir, 0o777);
    const findings = await checkModes(optionsWith(), OWN);
    expect(wrong(findings)).toEqual(['bad parent-directories']);
    expect(findings[0]?.text).toContain(dir);
  });

  test('a directory that can not be looked at is not called closed', async () => {
    put('other', 0o600);
    const options = optionsWith({ sockDir: join(dir, 'other', 'sock') });
    expect(wrong(await checkModes(options, OWN))).toEqual(['warn unread-files']);
  });

  test('a configuration that others may change, or read passwords in', async () => {
    chmodSync(join(dir, 'config'), 0o755);
    put('config/master', 0o644);
    expect(wrong(await checkConfiguration(optionsWith(), [], OWN))).toEqual([]);
    const readable = await checkConfiguration(optionsWith(), ['gitfs_password'], OWN);
    expect(wrong(readable)).toEqual(['bad configuration-secrets']);
    expect(readable[0]?.text).toContain('gitfs_password');
    put('config/master', 0o664);
    expect(wrong(await checkConfiguration(optionsWith(), [], OWN))).toEqual([
      'bad configuration-files',
    ]);
  });
});

describe('processes', () => {
  const SECRETS = [
    { from: 'file .root_key', value: 'k'.repeat(30) },
    { from: 'file password', value: 'p0stgres-passw0rd' },
    { from: 'file credentials.json', value: 'n4ts-passw0rd' },
  ];
  const seen = (changed: Partial<ProcessSeen> = {}): ProcessSeen => ({
    pid: 42,
    name: 'worker-pool-1',
    service: 'worker-pool-1',
    uid: OWN.uid,
    commandLine: 'node\0main.js\0',
    listens: [],
    environment: new Map([['NATS_URL', 'nats://worker-pool:n4ts-passw0rd@127.0.0.1:4222']]),
    ...changed,
  });
  const judge = (one: ProcessSeen, options = optionsWith()): string[] =>
    wrong(checkProcesses([one], options, SECRETS, OWN));
  const store = { name: 'job-cache-returner', service: 'job-cache-returner' };
  const url = 'postgres://brine:p0stgres-passw0rd@127.0.0.1/brine';

  test('a service holds its own credentials', () => {
    expect(judge(seen())).toEqual([]);
    expect(judge(seen({ ...store, environment: new Map([['DATABASE_URL', url]]) }))).toEqual([]);
    // A password of the site's own, which the operator gave to all.
    const proxy = new Map([['HTTPS_PROXY', 'http://me:proxy-passw0rd@proxy.example:3128']]);
    expect(judge(seen({ environment: proxy }))).toEqual([]);
  });

  test.each<[what: string, changed: Partial<ProcessSeen>]>([
    [
      'the user of another service',
      {
        environment: new Map([['NATS_URL', 'nats://admin:n4ts-passw0rd@127.0.0.1:4222']]),
      },
    ],
    ['the URL of PostgreSQL', { environment: new Map([['DATABASE_URL', url]]) }],
    ['a local key', { environment: new Map([['X', `a ${'k'.repeat(30)}`]]) }],
    [
      'credentials of a service in a process of none',
      {
        service: undefined,
        name: 'engine',
        environment: new Map([['NATS_URL', 'nats://worker-pool:n4ts-passw0rd@127.0.0.1:4222']]),
      },
    ],
  ])('a process with %s is named', (_what, changed) => {
    const findings = checkProcesses([seen(changed)], optionsWith(), SECRETS, OWN);
    expect(wrong(findings)).toEqual(['bad environments']);
    const text = JSON.stringify(findings);
    expect(text).toContain(changed.name ?? 'worker-pool-1');
    for (const { value } of SECRETS) expect(text).not.toContain(value);
  });

  test('what can not be read is not called closed', () => {
    const hidden = seen({ environment: undefined, listens: undefined });
    expect(judge(hidden)).toEqual(['warn environments', 'warn listens']);
  });

  test('a secret in a command line is named', () => {
    expect(judge(seen({ commandLine: `node\0--key=${'k'.repeat(30)}\0` }))).toEqual([
      'bad command-lines',
    ]);
  });

  test('a service that another user runs is named', () => {
    expect(judge(seen({ uid: OWN.uid + 1 }))).toEqual(['bad process-users']);
  });

  test('listeners beyond loopback are named unless an option asks for them', () => {
    const listens = (host: string, port: number, name = 'publisher') =>
      seen({
        name,
        service: name === 'engine' ? undefined : name,
        listens: [{ host, port }],
        environment: new Map(),
      });
    const options = optionsWith({ publishPort: 4505, retPort: 4506 });
    expect(judge(listens('0.0.0.0', 4505), options)).toEqual([]);
    expect(judge(listens('127.0.0.1', 4222), options)).toEqual([]);
    expect(judge(listens('::1', 4222), options)).toEqual([]);
    expect(judge(listens('0.0.0.0', 9100), options)).toEqual(['bad listens']);
    expect(judge(listens('::', 4222), options)).toEqual(['bad listens']);
    expect(judge(listens('192.0.2.1', 5432), options)).toEqual(['bad listens']);
    expect(judge(listens('0.0.0.0', 8080, 'engine'), options)).toEqual(['warn listens']);
    const asked = optionsWith({}, { healthHost: '0.0.0.0' });
    expect(judge(listens('0.0.0.0', 9100), asked)).toEqual([]);
    expect(judge(listens('0.0.0.0', 4507), options)).toEqual(['bad listens']);
    const http = { host: '0.0.0.0', port: 4507, origins: [] };
    expect(judge(listens('0.0.0.0', 4507), optionsWith({}, { http }))).toEqual([]);
    const rest = optionsWith({ restCherrypy: { port: 8000 } });
    expect(judge(listens('0.0.0.0', 8000), rest)).toEqual([]);
  });

  test.each([
    ['0100007F', '127.0.0.1'],
    ['00000000', '0.0.0.0'],
    ['00000000000000000000000001000000', '::1'],
    ['00000000000000000000000000000000', '::'],
    ['0000000000000000FFFF00000100007F', '127.0.0.1'],
    ['B80D0120000000000000000001000000', '2001:db8:0:0:0:0:0:1'],
  ])('the kernel writes %s for %s', (hex, address) => {
    expect(addressIn(hex)).toBe(address);
  });
});

describe('users of NATS', () => {
  const users = (): Record<string, string> =>
    Object.fromEntries(SERVICE_NAMES.map((name) => [name, `password-of-${name}`]));
  const judge = async (given: object): Promise<string[]> => {
    mkdirSync(join(dir, 'state/nats'), { recursive: true });
    put('state/nats/credentials.json', 0o600, JSON.stringify(given));
    return wrong(await checkServerUsers(optionsWith()));
  };

  test('each service has one of its own', async () => {
    expect(wrong(await checkServerUsers(optionsWith()))).toEqual([]);
    expect(await judge(users())).toEqual([]);
    const { publisher: _, ...missing } = users();
    expect(await judge(missing)).toEqual(['bad nats-users']);
    expect(await judge({ ...users(), publisher: users()['admin'] })).toEqual(['bad nats-users']);
    expect(await judge({ ...users(), publisher: 'short' })).toEqual(['bad nats-users']);
  });

  test('one user for all is a choice that weakens', async () => {
    const { nats } = optionsWith().brine;
    const at = async (url: string): Promise<string[]> =>
      wrong(await checkServerUsers(optionsWith({}, { nats: { ...nats, url } })));
    expect(await at('nats://all:secret@127.0.0.1:4222')).toEqual(['warn nats-users']);
    expect(await at('tls://nats.example:4222')).toEqual([]);
  });
});

describe('options that give more', () => {
  const of = (eauth: object): Partial<MasterOptions> => ({
    externalAuth: eauth as MasterOptions['externalAuth'],
  });
  const { testing } = loadMasterConfig({ configDir: '/nonexistent', env: {} }).options.brine;

  test.each<[option: string, found: string, Partial<MasterOptions>, Partial<Brine>?]>([
    ['.* for a user', 'warn rights-to-all', of({ pam: { anne: ['.*'] } })],
    ['.* on some minions', 'warn rights-to-all', of({ pam: { anne: [{ 'web*': ['.*'] }] } })],
    ['* for a user', 'warn rights-to-all', of({ pam: { anne: '*' } })],
    ['@runner', 'warn rights-to-master', of({ pam: { anne: ['@runner'] } })],
    ['@wheel', 'warn rights-to-master', of({ pam: { anne: ['@wheel'] } })],
    ['@runners', 'warn rights-to-master', of({ ldap: { 'ops%': ['@runners'] } })],
    ['@wheel: .*', 'warn rights-to-master', of({ pam: { anne: [{ '@wheel': ['.*'] }] } })],
    ['rights of *', 'warn rights-of-all', of({ pam: { '*': ['test.*'] } })],
    [
      'auto',
      'bad external_auth',
      of({ auto: { x: ['test.*'] } }),
      {
        testing: { ...testing, eauthAuto: true },
      },
    ],
    [
      'a short sharedsecret',
      'bad sharedsecret',
      {
        ...of({ sharedsecret: { x: ['test.*'] } }),
        sharedsecret: 'short',
      },
    ],
    ['publisher_acl: .*', 'warn rights-to-all', { publisherAcl: { anne: ['.*'] } }],
    ['publisher_acl of all', 'warn rights-of-all', { publisherAcl: { '.*': ['test.*'] } }],
    ['client_acl_verify', 'warn client_acl_verify', { clientAclVerify: false }],
    ['peer', 'bad peer', { peer: { '.*': ['.*'] } }],
    ['peer_run', 'bad peer_run', { peerRun: { 'web.*': ['.*'] } }],
    ['file_recv', 'warn file_recv', { fileRecv: true }],
    ['pillar_opts', 'warn pillar_opts', { pillarOpts: true }],
    ['permissive_pki_access', 'warn permissive_pki_access', { permissivePkiAccess: true }],
    ['token_expire', 'warn token_expire', { tokenExpire: 30 * 86_400 }],
    [
      'token_expire_user_override',
      'warn token_expire_user_override',
      {
        tokenExpireUserOverride: true,
      },
    ],
    ['inner_calls', 'warn brine.inner_calls', {}, { innerCalls: 'stock' }],
    ['minion_id_signs', 'warn brine.minion_id_signs', {}, { minionIdSigns: '~#' }],
    ['minion_events', 'warn brine.minion_events', {}, { minionEvents: ['salt/*'] }],
  ])('%s is named', async (_option, found, changed, brine = {}) => {
    expect(wrong(await checkWidened(optionsWith(changed, brine)))).toEqual([found]);
  });

  test('plain NATS is named', async () => {
    const { nats } = optionsWith().brine;
    const plain = optionsWith({}, { nats: { ...nats, plain: true } });
    expect(wrong(await checkWidened(plain))).toEqual(['bad brine.nats.plain']);
  });

  test('an autosign file that any id matches is named', async () => {
    const autosignFile = put('autosign', 0o600, 'web-1\n*\n');
    expect(wrong(await checkWidened(optionsWith({ autosignFile })))).toEqual(['bad autosign_file']);
    put('autosign', 0o600, 'web-*\n');
    expect(wrong(await checkWidened(optionsWith({ autosignFile })))).toEqual([]);
  });

  test('rights that name functions, modules and arguments are not', async () => {
    const rights = ['test.*', '@jobs', { '@runner': ['jobs.list_.*'] }, { '@jobs': ['.*'] }];
    const limited = [{ 'web*': [{ 'my.fun': { args: ['.*'], kwargs: { a: '.*' } } }] }];
    const options = {
      ...of({ pam: { '^service': '.*', anne: rights, tom: limited } }),
      peer: { '.*': ['test.ping'] },
    };
    expect(wrong(await checkWidened(optionsWith(options)))).toEqual([]);
  });
});

test('all borders are looked at, and a master that does not run is not called closed', async () => {
  const loaded = { options: optionsWith(), warnings: [] };
  const findings = await examineBorders(loaded, { configDir: '/nonexistent' });
  const checks = findings.map(({ check }) => check);
  expect(checks).toEqual(
    expect.arrayContaining([
      ...['private-files', 'file-modes', 'configuration-files', 'processes', 'nats-users'],
      ...['open_mode', 'rights', 'minimum_auth_version'],
    ]),
  );
  expect(wrong(findings)).toContain('warn processes');
});
