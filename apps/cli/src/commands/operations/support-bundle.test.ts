import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { unpackTar } from 'modern-tar';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Printed, printedBy } from '../../printed.fixture.ts';

/** One in each place that a secret of a master can be in. */
const SECRETS = {
  option: 'option-secret-1x',
  nested: 'nested-secret-2x',
  url: 'url-secret-3x4y5',
  unknown: 'unknown-secret-4x',
  userKey: 'A'.repeat(40),
  nats: 'nats-password-5x6y',
  postgres: 'postgres-pw-6x7y',
  services: 'services-pw-8z9a',
  token: 'f'.repeat(64),
};

const KEY_LINE = 'MIIEpAIBAAKCAQEAxx1xx2xx3xx4xx5';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-bundle-'));
  const put = (path: string, text: string): void => {
    mkdirSync(join(dir, path, '..'), { recursive: true });
    writeFileSync(join(dir, path), text);
  };
  put(
    'master',
    `root_dir: ${dir}
id: m1
pki_dir: pki
cachedir: cache
log_file: log
gitfs_password: ${SECRETS.option}
ext_pillar:
  - git:
    - main ssh://127.0.0.1:9/p.git:
      - password: ${SECRETS.nested}
gitfs_remotes: ["https://u:${SECRETS.url}@127.0.0.1:9/a.git"]
my_own_thing: { api_key: ${SECRETS.unknown} }
brine: { state_dir: ${dir}/state }
`,
  );
  put('cache/.root_key', SECRETS.userKey);
  put(`cache/tokens/${SECRETS.token}`, 'x');
  put('state/nats/credentials.json', JSON.stringify({ admin: SECRETS.nats }));
  put('state/postgres/password', SECRETS.postgres);
  put('state/postgres/services-password', SECRETS.services);
  put(
    'pki/master.pem',
    ['-----BEGIN RSA PRIVATE KEY-----', KEY_LINE, '-----END RSA PRIVATE KEY-----', ''].join('\n'),
  );
  const lines = Object.entries(SECRETS).map(([name, secret]) => `${name} is ${secret} here`);
  put(
    'log',
    ['the first line', ...lines, 'MIIEpAIBAAKCAQEAxx1xx2xx3xx4xx5', 'the last line', ''].join('\n'),
  );
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function run(...args: readonly string[]): Promise<Printed> {
  return printedBy(['support-bundle', '-c', dir, ...args]);
}

test('no secret of the host is in the file, and each loss is named', async () => {
  const file = join(dir, 'night.tar.gz');
  const said = await run(file);
  expect(said.code, said.err).toBe(0);
  const tar = gunzipSync(readFileSync(file));
  for (const [name, secret] of Object.entries(SECRETS)) {
    expect(tar.includes(secret), name).toBe(false);
  }
  expect(tar.includes('MIIEpAIBAAKCAQEAxx1xx2xx3xx4xx5')).toBe(false);
  const entries = await unpackTar(tar);
  const textOf = (name: string): string => {
    const entry = entries.find(({ header }) => header.name.endsWith(`/${name}`));
    return Buffer.from(entry?.data ?? []).toString();
  };
  expect(textOf('logs/master.log')).toBe('the first line\nthe last line\n');
  expect(textOf('README.txt')).toContain(
    'logs/master.log: 1 lines left out (option gitfs_password)',
  );
  expect(textOf('configuration.txt')).toMatch(/^gitfs_password: "?\*{8}/m);
  expect(textOf('status.txt')).toContain('m1: the master does not run');
  expect(textOf('doctor.txt')).toMatch(
    /backends: \w+ names 127\.0\.0\.1:9, which can not be reached/,
  );
  expect(textOf('streams.json')).toContain('the NATS of this master does not run');
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('a file that is there stays, and no draft is left', async () => {
  const file = join(dir, 'night.tar.gz');
  writeFileSync(file, 'mine');
  const said = await run(file);
  expect(said).toMatchObject({ code: 1 });
  expect(said.err).toContain(`${file} is there already: give another name`);
  expect(readFileSync(file, 'utf8')).toBe('mine');
  expect(readdirSync(dir).filter((name) => name.includes('draft'))).toEqual([]);
});

test('without a file, and into no directory, it says what to do', async () => {
  expect(await run()).toMatchObject({ code: 64 });
  const said = await run(join(dir, 'nowhere', 'x'));
  expect(said.code).toBe(1);
  expect(said.err).toMatch(/^brine support-bundle: .* can not be written: ENOENT/m);
});
