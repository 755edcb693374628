// Who runs git: gitfs and git pillars. Both get the same environment and refuse the same remotes.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { GitfsBackend, readRemotes } from '@brine/fileserver';
import { GitCheckouts } from '@brine/rendering/sources';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-git-users-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

/** Fetches a remote once, with a user, a password and a key. Gives what went wrong. */
type Fetch = (url: string) => Promise<string>;

const fetchOfGitfs: Fetch = async (url) => {
  const access = { user: 'u', password: 'secret', privkey: "/k'ey", insecure_auth: true };
  const globals = {
    base: 'master',
    ref_types: ['branch'],
    refspecs: ['+refs/heads/*:refs/remotes/origin/*'],
    update_interval: 0,
    ssl_verify: false,
  };
  const isWeb = url.startsWith('https:');
  const remotes = readRemotes([url], { ...globals, ...(isWeb ? access : {}) });
  const problems: (string | undefined)[] = [];
  const tell = (_remote: string, problem: string | undefined): void => void problems.push(problem);
  const backend = new GitfsBackend({ remotes, cacheDir: join(dir, 'gitfs'), report: tell });
  expect(await backend.envs()).toEqual([]);
  await backend.close();
  return problems.join('\n');
};

const fetchOfPillars: Fetch = async (url) => {
  const lines: string[] = [];
  const settings = {
    cacheDir: join(dir, 'pillar'),
    updateIntervalMs: 0,
    sslVerify: false,
    user: 'u',
    password: 'secret',
    privkey: "/k'ey",
  };
  const checkouts = new GitCheckouts(settings, (line) => lines.push(line));
  await expect(checkouts.of({ url, refs: ['master'], ownRefs: [] })).rejects.toThrow('has no');
  return lines.join('\n');
};

/** A git that writes down its environment first. */
function recordGit(): () => ReadonlyMap<string, string>[] {
  const real = execFileSync('/bin/sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const [bin, seen] = [join(dir, 'bin'), join(dir, 'seen')];
  mkdirSync(bin);
  mkdirSync(seen);
  writeFileSync(join(bin, 'git'), `#!/bin/sh\nenv -0 > ${seen}/$$\nexec ${real} "$@"\n`);
  chmodSync(join(bin, 'git'), 0o755);
  vi.stubEnv('PATH', `${bin}${delimiter}${process.env['PATH']}`);
  return () =>
    readdirSync(seen).map((name) => {
      const pairs = readFileSync(join(seen, name), 'utf8').split('\0');
      return new Map(
        pairs.map((pair): [string, string] => [
          pair.split('=')[0] ?? '',
          pair.slice(pair.indexOf('=') + 1),
        ]),
      );
    });
}

describe.each([
  ['gitfs', fetchOfGitfs],
  ['git_pillar', fetchOfPillars],
])('each git of %s', (_user, fetch) => {
  const basic = Buffer.from('u:secret').toString('base64');
  test.each([
    ['LC_ALL', 'C'],
    ['LANGUAGE', 'C'],
    ['GIT_TERMINAL_PROMPT', '0'],
    ['GIT_ALLOW_PROTOCOL', 'file:git:http:https:ssh'],
    ['GIT_SSH_COMMAND', "ssh -o BatchMode=yes -o IdentitiesOnly=yes -i '/k'\\''ey'"],
    ['GIT_DIR', expect.stringContaining('brine-git-users-') as string],
    ['GIT_SSL_NO_VERIFY', 'true'],
    ['GIT_CONFIG_COUNT', '1'],
    ['GIT_CONFIG_KEY_0', 'http.extraHeader'],
    ['GIT_CONFIG_VALUE_0', `Authorization: Basic ${basic}`],
    // From this process, unless they are Brine's own.
    ['GIT_SSL_CAINFO', '/etc/site.pem'],
    ['SSL_CERT_FILE', '/etc/site.pem'],
    ['https_proxy', 'http://127.0.0.1:1'],
    ['NATS_URL', undefined],
  ])('has %s as %s', async (name, value) => {
    const seen = recordGit();
    vi.stubEnv(name, 'of this process');
    vi.stubEnv('GIT_SSL_CAINFO', '/etc/site.pem');
    vi.stubEnv('SSL_CERT_FILE', '/etc/site.pem');
    vi.stubEnv('https_proxy', 'http://127.0.0.1:1');
    expect(await fetch('https://127.0.0.1:1/x')).toContain('git fetch');
    const values = seen().map((environment) => environment.get(name));
    expect(values.length).toBeGreaterThan(1);
    expect(new Set(values)).toEqual(new Set([value]));
  });

  test.each([
    ['ext', (ran: string) => `ext::touch ${ran}`],
    ['fd', () => 'fd::17'],
    ['own', () => 'own::x'],
  ])('refuses the protocol %s, even if the account allows all', async (name, urlOf) => {
    const ran = join(dir, 'ran');
    writeFileSync(join(dir, '.gitconfig'), '[protocol]\n\tallow = always\n');
    writeFileSync(join(dir, 'git-remote-own'), `#!/bin/sh\ntouch ${ran}\n`);
    chmodSync(join(dir, 'git-remote-own'), 0o755);
    vi.stubEnv('HOME', dir);
    vi.stubEnv('PATH', `${dir}${delimiter}${process.env['PATH']}`);
    expect(await fetch(urlOf(ran))).toContain(`transport '${name}' not allowed`);
    expect(existsSync(ran)).toBe(false);
  });
});
