import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConfigError } from './errors.ts';
import { findConfig } from './load.ts';
import { clientInterface, loadMasterConfig } from './master.ts';
import { loadMinionConfig } from './minion.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-config-'));
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

function write(name: string, text: string): string {
  const path = join(dir, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

function load(text: string, env: Record<string, string> = {}) {
  write('master', text);
  return loadMasterConfig({ configDir: dir, env });
}

function errorOf(body: () => unknown): ConfigError {
  try {
    body();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('files of the master', () => {
  test("an empty file gives Salt's defaults", () => {
    const { options, warnings } = load('');
    expect(options).toMatchObject({
      interface: '0.0.0.0',
      publishPort: 4505,
      retPort: 4506,
      timeout: 5,
      gatherJobTimeout: 10,
      keepJobsSeconds: 86_400,
      publishSession: 86_400,
      signPubMessages: true,
      minimumAuthVersion: 3,
      pkiDir: '/etc/salt/pki/master',
      cachedir: '/var/cache/salt/master',
      pidfile: '/var/run/salt-master.pid',
      id: `${hostname()}_master`,
      configDir: dir,
    });
    expect(options.brine.stateDir).toBe('/var/cache/salt/master/brine');
    expect(warnings).toEqual([]);
  });

  test('a file whose texts and maps go on at the column of their parent starts a master', () => {
    const { options, warnings } = load(
      '%YAML 1.1\n---\nnodegroups: {web: "web* or\n  db*"}\n' +
        'peer: {"web.*": ["test.ping",\n"test.version"\n]}\n',
    );
    expect(options.nodegroups).toEqual({ web: 'web* or db*' });
    expect(options.peer).toEqual({ 'web.*': ['test.ping', 'test.version'] });
    expect(warnings).toEqual([]);
  });

  test('a missing directory is a warning with the words of Salt, and the defaults hold', () => {
    const { options, warnings } = loadMasterConfig({ configDir: '/nonexistent/salt', env: {} });
    expect(options.retPort).toBe(4506);
    expect(warnings.map(({ text }) => text)).toEqual([
      "WARNING: CONFIG '/nonexistent/salt' directory does not exist.",
    ]);
  });

  test('included files come in the order of their names, and the later wins', () => {
    write('master.d/20-b.conf', 'timeout: 20\nnodegroups:\n  b: L@b\nfile_ignore_glob: ["*.b"]\n');
    write('master.d/10-a.conf', 'timeout: 10\nnodegroups:\n  a: L@a\nfile_ignore_glob: ["*.a"]\n');
    write('master.d/ignored.txt', 'timeout: 99\n');
    const { options } = load('timeout: 1\nnodegroups:\n  main: L@m\nret_port: 5506\n');
    expect(options.timeout).toBe(20);
    // Among included files maps merge and lists join; the result replaces the main file's option.
    expect({ ...options.nodegroups }).toEqual({ a: 'L@a', b: 'L@b' });
    expect(options.fileIgnoreGlob).toEqual(['*.a', '*.b']);
    expect(options.retPort).toBe(5506);
  });

  test('include takes globs, and one that matches nothing brings a warning', () => {
    write('more/x.yaml', 'timeout: 7\ninclude: deep/[a-c].conf\n');
    write('more/deep/b.conf', 'ret_port: 7506\n');
    const { options, warnings } = load('include:\n  - more/*.yaml\n  - none/*.conf\n');
    expect(options.timeout).toBe(7);
    expect(options.retPort).toBe(7506);
    expect(warnings.map(({ text }) => text)).toEqual([
      'Warning parsing configuration file: "include" path/glob \'none/*.conf\' matches no files',
    ]);
  });

  test('a file that includes itself is an error, not an endless loop', () => {
    write('loop.conf', 'include: loop.conf\n');
    expect(errorOf(() => load('include: loop.conf\n')).code).toBe('CONFIG_READ');
  });

  test('an option that does not fit names itself, its file and its line', () => {
    write('master.d/a.conf', '# a comment\ntimeout: 5\nret_port: many\n');
    const error = errorOf(() => load(''));
    expect(error).toMatchObject({ code: 'CONFIG_VALUE', line: 3 });
    expect(error.message).toBe(
      `Option 'ret_port' in ${dir}/master.d/a.conf, line 3, must be a whole number from 0 to 65535`,
    );
  });

  test("an option of brine's own is checked like the others", () => {
    expect(errorOf(() => load('brine:\n  workers: 65\n')).message).toBe(
      `Option 'brine.workers' in ${dir}/master, line 2, must be a whole number from 1 to 64`,
    );
    expect(errorOf(() => load('brine:\n  metrics:\n    port: 70000\n')).message).toContain(
      `Option 'brine.metrics.port' in ${dir}/master, line 3, must be a whole number`,
    );
    expect(errorOf(() => load('brine: yes\n')).message).toContain("'brine' in");
  });

  test('an option of an earlier release is refused, and the text names the new one', () => {
    const gone = (text: string, env = {}) => errorOf(() => load(text, env)).message;
    expect(gone('brine:\n  nats:\n    via: localhost:1\n')).toBe(
      `Option 'brine.nats.via' in ${dir}/master, line 3, is gone: ` +
        "it is 'brine.testing.nats_via' now, for tests only",
    );
    expect(gone('brine:\n  postgres: {via: "localhost:1"}\n')).toContain(
      "'brine.testing.postgres_via'",
    );
    expect(gone('brine:\n  eauth:\n    auto: true\n')).toContain("'brine.testing.eauth_auto'");
    expect(gone('', { BRINE_NATS_VIA: 'localhost:1' })).toBe(
      'Environment variable BRINE_NATS_VIA is gone: ' +
        "it is 'brine.testing.nats_via' now, for tests only",
    );
    for (const old of ['enabled: false', 'ratio: 0.1', 'logins_ratio: 1', 'returns_first: 5']) {
      expect(gone(`brine:\n  trace:\n    ${old}\n`)).toContain(
        "line 3, is gone: set 'brine.trace' to off, errors, sampled or all instead",
      );
    }
  });

  test('the tracing profile is one word, and a bare `off` of YAML is one', () => {
    const traced = (text: string, env = {}) => load(text, env).options.brine.trace;
    expect(traced('')).toBe('sampled');
    expect(traced('brine:\n  trace: off\n')).toBe('off');
    expect(traced('brine:\n  trace: errors\n')).toBe('errors');
    expect(traced('', { BRINE_TRACE: 'all' })).toBe('all');
    expect(errorOf(() => load('brine:\n  trace: on\n')).message).toContain(
      'must be one of off, errors, sampled, all',
    );
  });

  test('levels of the log are taken in upper case, as Salt takes them', () => {
    const { options } = load('log_level: INFO\nlog_level_logfile: Debug\n');
    expect([options.logLevel, options.logLevelLogfile]).toEqual(['info', 'debug']);
    expect(load('', { BRINE_LOG_LEVEL: 'ERROR' }).options.logLevel).toBe('error');
    expect(errorOf(() => load('log_level: LOUD\n')).message).toContain('must be one of all, ');
  });

  test('unknown options bring a warning with their names only', () => {
    const { warnings } = load('my_secret_thing: hunter2\nbrine:\n  zzz: 3\n');
    expect(warnings.map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
      `unknown: Unknown option 'brine.zzz' in ${dir}/master, line 3`,
      `unknown: Unknown option 'my_secret_thing' in ${dir}/master, line 1`,
    ]);
  });

  test('an option without a value has its default', () => {
    expect(load('nodegroups:\ntimeout:\n').options).toMatchObject({ nodegroups: {}, timeout: 5 });
  });

  test('a key that JavaScript gives a meaning is a key like any other', () => {
    const { options } = load('nodegroups:\n  __proto__: L@a\n  constructor: L@b\n');
    expect(Object.keys(options.nodegroups)).toEqual(['__proto__', 'constructor']);
    expect(({} as Record<string, unknown>)['polluted']).toBe(undefined);
  });
});

describe('values that follow from options', () => {
  test('root_dir stands before every path but those below it already', () => {
    const { options } = load('root_dir: /srv/lab\npki_dir: keys\ncachedir: /srv/lab/cache\n');
    expect(options.pkiDir).toBe('/srv/lab/keys');
    expect(options.cachedir).toBe('/srv/lab/cache');
    expect(options.sockDir).toBe('/srv/lab/var/run/salt/master');
    expect(options.logFile).toBe('/srv/lab/var/log/salt/master');
    expect(options.autosignFile).toBe(undefined);
    expect(load('root_dir: /srv/lab\nlog_file: file:///dev/log\n').options.logFile).toBe(
      'file:///dev/log',
    );
  });

  test('sockets move into the cache when their path is too long', () => {
    const long = `/srv/${'x'.repeat(60)}`;
    expect(load(`sock_dir: ${long}\ncachedir: /c\n`).options.sockDir).toBe('/c/.salt-unix');
  });

  test('keep_jobs is understood where keep_jobs_seconds is not given', () => {
    expect(load('keep_jobs: 2\n').options.keepJobsSeconds).toBe(7200);
    expect(load('keep_jobs: 2\nkeep_jobs_seconds: 9\n').options.keepJobsSeconds).toBe(9);
  });

  test('a numeric id is a text, and nothing is appended to an id that is given', () => {
    expect(load('id: 42\n').options.id).toBe('42');
  });

  test('a client does not connect to the wildcard address', () => {
    expect(clientInterface({ interface: '0.0.0.0' })).toBe('127.0.0.1');
    expect(clientInterface({ interface: '::' })).toBe('::1');
    expect(clientInterface({ interface: '10.0.0.1' })).toBe('10.0.0.1');
  });
});

describe('environment', () => {
  test('variables win over the file', () => {
    const env = { NATS_URL: 'nats://n:4222', DATABASE_URL: 'postgres://p/x', BRINE_WORKERS: '4' };
    const { brine } = load('brine:\n  workers: 3\n  nats:\n    url: nats://file\n', env).options;
    expect(brine.nats.url).toBe('nats://n:4222');
    expect(brine.postgres.url).toBe('postgres://p/x');
    expect(brine.workers).toBe(4);
    expect(load('', { NATS_URL: '' }).options.brine.nats.url).toBe(undefined);
  });

  test('a variable that does not fit is named', () => {
    expect(errorOf(() => load('', { BRINE_WORKERS: 'all' })).message).toBe(
      "Environment variable BRINE_WORKERS (option 'brine.workers') must be " +
        'a whole number from 1 to 64',
    );
  });

  test('further variables of children are names, and never Brine’s own', () => {
    const names = (text: string, env = {}) => load(text, env).options.brine.childEnvironment;
    expect(names('')).toEqual([]);
    expect(names('brine: {child_environment: [AWS_*, VAULT_TOKEN]}\n')).toEqual([
      'AWS_*',
      'VAULT_TOKEN',
    ]);
    expect(names('', { BRINE_CHILD_ENVIRONMENT: ' AWS_* *' })).toEqual(['AWS_*', '*']);
    for (const name of ['NATS_URL', 'BRINE_*', 'DATABASE_URL', 'PGPASSWORD', 'A=B', 'A*B', '7']) {
      const text = `brine: {child_environment: ['${name}']}\n`;
      expect(errorOf(() => load(text)).message).toContain(
        "must be a list of variables like AWS_REGION or AWS_*, and none of Brine's own",
      );
    }
  });

  test('the file is found by argument, then by variable, then where Salt has it', () => {
    const env = { SALT_CONFIG_DIR: '/s', BRINE_CONFIG_DIR: '/b', SALT_MASTER_CONFIG: '/m/file' };
    expect(findConfig('master', { configDir: '/a', env }).file).toBe('/a/master');
    expect(findConfig('master', { env })).toEqual({ file: '/m/file', configDir: '/m' });
    expect(findConfig('minion', { env }).file).toBe('/b/minion');
    expect(findConfig('master', { env: {} }).file).toBe('/etc/salt/master');
  });
});

describe('the minion', () => {
  test('its id is that of the file, then of minion_id, then of the host', () => {
    expect(loadMinionConfig({ configDir: dir, env: {} }).options.id).toBe(hostname());
    write('minion_id', '\uFEFFcached.example\n');
    expect(loadMinionConfig({ configDir: dir, env: {} }).options.id).toBe('cached.example');
    write('minion', 'id: named.example\nmaster: 10.0.0.1\nmaster_port: 4606\n');
    const { options } = loadMinionConfig({ configDir: dir, env: {} });
    expect(options).toMatchObject({ id: 'named.example', master: ['10.0.0.1'], masterPort: 4606 });
  });
});

test('the configuration of the command line is cheap to load, beside Node itself', () => {
  write('master', 'interface: 127.0.0.1\nroot_dir: .\nauto_accept: true\n');
  const script = `
    const before = process.cpuUsage();
    const { loadMasterConfig } = await import(process.argv[1]);
    loadMasterConfig({ configDir: process.argv[2], env: {} });
    const { user, system } = process.cpuUsage(before);
    console.log(String((user + system) / (before.user + before.system)));`;
  // The build, as the command line runs it; `npm test` has made it.
  const door = new URL('../dist/index.js', import.meta.url).pathname;
  const args = ['--input-type=module', '-e', script, door, dir];
  const runs = [1, 2, 3].map(() =>
    Number(execFileSync(process.execPath, args, { encoding: 'utf8' })),
  );
  // Seen: 1.0 to 1.2 times what the start of Node costs.
  expect(Math.min(...runs)).toBeLessThan(2.5);
});
