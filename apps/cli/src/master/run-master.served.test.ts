import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadMasterConfig } from '@brine/config';
import { PrivateKey } from '@brine/crypt';
import { stateFile } from '@brine/service/processes';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

// Not Salt's own: another master may have those while tests run.
const NO_PORTS = 'publish_port: 0\nret_port: 0\n';
const MASTER = new URL('./run-master.ts', import.meta.url).pathname;
const NODE = process.execPath;
const isRoot = process.getuid?.() === 0;

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-master-'));
  chmodSync(dir, 0o755);
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

function run(
  config: string,
  more: object = {},
  by: readonly [string, ...string[]] = [NODE],
  configDir = dir,
): Promise<{ code: number | string; stderr: string }> {
  writeFileSync(join(dir, 'master'), config);
  const script = `
    const { runMaster } = await import(process.argv[1]);
    const configDir = process.argv[2] || undefined;
    const { program, ...given } = JSON.parse(process.argv[3]);
    if (program !== undefined) {
      process.execArgv.length = 0;
      process.argv[1] = program;
    }
    process.exit(await runMaster({ configDir, ...given }));`;
  const tsx = ['--import', 'tsx', '--conditions=source'];
  const args = [
    ...tsx,
    '--input-type=module',
    '-e',
    script,
    MASTER,
    configDir,
    JSON.stringify(more),
  ];
  return new Promise((resolve) => {
    const [program, ...before] = by;
    // tsx would leave a directory of that user.
    const env = { ...process.env, TSX_DISABLE_CACHE: '1' };
    execFile(program, [...before, ...args], { env }, (error, _stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stderr }),
    );
  });
}

/** Runs it without the rights of root, who is `nobody` in a new user namespace. */
const runAsAnyone = (config: string): ReturnType<typeof run> =>
  run(config, {}, isRoot ? ['unshare', '--user', NODE] : [NODE]);

/** Lines of a file of a master below the test's directory. */
const below = (lines: string): string => `root_dir: ${dir}\n${NO_PORTS}${lines}`;

/** Reasons why a master does not start: what makes it, the exit code, and its line. */
interface Refusal {
  readonly why: string;
  readonly config: () => string;
  readonly make?: () => void;
  readonly args?: () => object;
  readonly code: number;
  readonly says: () => string;
  /** True where nothing but the file may be there afterwards. */
  readonly untouched?: boolean;
}

const REFUSALS: readonly Refusal[] = [
  {
    why: 'a file that is no YAML',
    config: () => 'a: [1, 2\nb: 3\n',
    code: 1,
    says: () => `[ERROR   ] Error parsing configuration file: ${dir}/master - `,
    untouched: true,
  },
  {
    why: 'a value of another type',
    config: () => 'ret_port: many\n',
    code: 1,
    says: () => `[ERROR   ] Option 'ret_port' in ${dir}/master, line 1, must be a whole number`,
    untouched: true,
  },
  {
    why: 'an address of sdb that nothing reads',
    config: () => below('key_pass: sdb://safe/pass\n'),
    code: 1,
    says: () => 'is an address of sdb that can not be read: set brine.python',
    untouched: true,
  },
  {
    why: 'options without which work would be lost, all of them named at once',
    config: () =>
      below('ssl: true\next_pillar: [{mysql: {}}]\nrunner_dirs: [/srv/runners]\nipc_mode: tcp\n'),
    code: 1,
    says: () => 'accept_ignored: ["ssl", "ext_pillar:mysql", "runner_dirs", "ipc_mode"]',
    untouched: true,
  },
  {
    why: 'a user that the host does not have',
    config: () => below('user: no-such-user-here\n'),
    code: 67,
    says: () => 'Failed to prepare the Salt environment for user no-such-user-here.',
    untouched: true,
  },
  {
    why: 'such a user on the command line',
    config: () => below(''),
    args: () => ({ user: 'no-such-user-here' }),
    code: 67,
    says: () => 'The user is not available.',
    untouched: true,
  },
  {
    why: 'a file in the place of a directory',
    config: () => below(''),
    make: () => {
      mkdirSync(join(dir, 'var/cache/salt'), { recursive: true });
      writeFileSync(join(dir, 'var/cache/salt/master'), '');
    },
    code: 17,
    says: () => `Failed to create directory path "${dir}/var/cache/salt/master"`,
  },
  {
    why: 'a log file that can not be had',
    config: () => below(''),
    make: () => void mkdirSync(join(dir, 'var/log/salt/master'), { recursive: true }),
    code: 1,
    says: () => `Failed to create path "${dir}/var/log/salt/master"`,
  },
  {
    why: 'a form of log lines that Python refuses',
    config: () => below("log_fmt_console: '%(nobody)s'\n"),
    code: 1,
    says: () => "log_fmt_console: unknown name 'nobody' in '%(nobody)s'",
  },
  {
    why: 'a syslog that there can not be',
    config: () => below('log_file: udp://host/LOG_NOBODY\n'),
    code: 1,
    says: () => 'log_file: udp://host/LOG_NOBODY: syslog has no facility LOG_NOBODY',
  },
  {
    why: 'a restore that was not ended',
    config: () => below(''),
    make: () => {
      const state = join(dir, 'var/cache/salt/master/brine');
      mkdirSync(state, { recursive: true });
      const marker = { backup: 'b', file: '/b.tar.gz', keepsCertificates: false, done: [] };
      writeFileSync(join(state, 'restore.json'), JSON.stringify(marker));
    },
    code: 1,
    says: () => `a restore was not ended: run \`brine restore /b.tar.gz -c ${dir}\` again`,
  },
  {
    why: 'an encrypted key without its passphrase',
    config: () => below(''),
    make: () => makeKey('hunter2'),
    code: 1,
    says: () => 'master.pem: it is encrypted, and no passphrase is set (key_pass)',
  },
  {
    why: 'an encrypted key with another passphrase',
    config: () => below('key_pass: other\n'),
    make: () => makeKey('hunter2'),
    code: 1,
    says: () => 'master.pem: it is encrypted, and the passphrase (key_pass) does not open it',
  },
];

function makeKey(passphrase: string): void {
  const pem = PEM.encryptedPem(passphrase);
  mkdirSync(join(dir, 'etc/salt/pki/master'), { recursive: true });
  writeFileSync(join(dir, 'etc/salt/pki/master/master.pem'), pem, { mode: 0o400 });
}

const PEM = await PrivateKey.generate(2048);

describe('each reason why a master does not start has its exit code and a clear line', () => {
  test.each(REFUSALS)('$why: $code', async ({ config, make, args, code, says, untouched }) => {
    make?.();
    const before = readdirSync(dir);
    const refused = await run(config(), args?.());
    expect(refused.stderr).toContain(says());
    expect(refused.code).toBe(code);
    // Neither a pid file nor a claim keeps the next start away.
    expect(existsSync(join(dir, 'var/run/salt-master.pid'))).toBe(false);
    expect(existsSync(join(dir, 'var/cache/salt/master/brine/master.lock'))).toBe(false);
    if (untouched === true) expect(readdirSync(dir)).toEqual([...before, 'master'].sort());
  });

  test('a port of root with another user: 1', async (context) => {
    if (!isRoot) return context.skip('this is not root');
    const { code, stderr } = await run(`root_dir: ${dir}\nuser: nobody\npublish_port: 505\n`);
    expect([code, existsSync(join(dir, 'var'))]).toEqual([1, false]);
    expect(stderr).toContain('port 505 is for root alone, and user is nobody');
  });

  test('a file that its user can not read: 1', async (context) => {
    if (!isRoot) return context.skip('this is not root');
    mkdirSync(join(dir, 'master.d'));
    const secret = join(dir, 'master.d/secret.conf');
    writeFileSync(secret, 'sharedsecret: a\n', { mode: 0o600 });
    const { code, stderr } = await run(below('user: nobody\n'));
    expect([code, existsSync(join(dir, 'var'))]).toEqual([1, false]);
    expect(stderr).toContain(`user is nobody, which can not read ${secret}`);
    expect(statSync(secret).uid).toBe(0);
  });

  test('a file of any name that its user can not read: 1', async (context) => {
    if (!isRoot) return context.skip('this is not root');
    const named = join(dir, 'prod.conf');
    writeFileSync(named, below('user: nobody\n'), { mode: 0o600 });
    const { code, stderr } = await run('', {}, ['env', `SALT_MASTER_CONFIG=${named}`, NODE], '');
    expect([code, existsSync(join(dir, 'var'))]).toEqual([1, false]);
    expect(stderr).toContain(`user is nobody, which can not read ${named}`);
  });

  test('a directory of the log file that its user can not enter: 1', async (context) => {
    if (!isRoot) return context.skip('this is not root');
    mkdirSync(join(dir, 'closed'), { mode: 0o700 });
    const { code, stderr } = await run(below('user: nobody\nlog_file: /closed/log/master\n'));
    expect([code, existsSync(join(dir, 'var'))]).toEqual([1, false]);
    expect(stderr).toContain(
      `No permissions to access "${dir}/closed/log/master", are you running as the correct user?`,
    );
  });

  test('a user that only root can become: 1', async () => {
    const { code, stderr } = await runAsAnyone(below('user: root\n'));
    expect([code, existsSync(join(dir, 'var'))]).toEqual([1, false]);
    expect(stderr).toContain('only root can change to root');
  });

  test('a directory that is closed to its user: 13', async () => {
    const closed = join(dir, 'var/cache/salt/master/proc');
    mkdirSync(closed, { recursive: true });
    chmodSync(closed, 0o500);
    const { code, stderr } = await runAsAnyone(below(''));
    expect(code).toBe(13);
    expect(stderr).toContain(`can not write in ${closed}: permission denied (EACCES)`);
  });
});

describe('a master that has what this one needs is left alone: 4', () => {
  test('on the same cachedir', async () => {
    const config = below('');
    writeFileSync(join(dir, 'master'), config);
    const path = stateFile(loadMasterConfig({ configDir: dir, env: {} }).options.brine.stateDir);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify({ pid: process.pid, startedAt: '', services: [] }));
    const { code, stderr } = await run(config);
    expect(code).toBe(4);
    expect(stderr).toContain(`a master runs on this cachedir already (pid ${process.pid})`);
  });

  test('on one of the ports, before anything is written', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    const { code, stderr } = await run(
      `root_dir: ${dir}\ninterface: 127.0.0.1\n${NO_PORTS.replace('0', String(port))}`,
    );
    await once(holder.close(), 'close');
    expect(code).toBe(4);
    expect(stderr).toContain('Not started, is there another master running?');
    expect(stderr).toContain(`port ${port} of 127.0.0.1 is taken by process ${process.pid} (`);
    expect(readdirSync(dir)).toEqual(['master']);
  });

  test('by the pid file, also one that the command line names', async () => {
    const other = spawn('sleep', ['1000'], { argv0: 'salt-master' });
    await once(other, 'spawn');
    const pidFile = join(dir, 'named.pid');
    writeFileSync(pidFile, String(other.pid));
    const { code, stderr } = await run(below(''), { pidFile });
    other.kill();
    expect(code).toBe(4);
    expect(stderr).toContain(`${pidFile} names process ${other.pid} (salt-master)`);
    expect(readFileSync(pidFile, 'utf8')).toBe(String(other.pid));
  });
});

test.each([
  ['-c names a directory', (): string => dir, (): string[] => ['-c', dir]],
  ['the environment names a file', (): string => '', (): string[] => []],
])('-d starts a master on the same configuration where %s', async (_, configDir, more) => {
  const named = join(dir, 'master');
  const told = join(dir, 'told');
  const program = join(dir, 'program.cjs');
  writeFileSync(
    program,
    `require('fs').writeFileSync(${JSON.stringify(told)}, JSON.stringify(
      [process.env.SALT_MASTER_CONFIG, ...process.argv.slice(2)]));`,
  );
  const by = ['env', `SALT_MASTER_CONFIG=${named}`, NODE] as const;
  await run(below(''), { daemon: true, program }, by, configDir());
  expect(JSON.parse(readFileSync(told, 'utf8'))).toEqual([named, 'master', ...more()]);
});
