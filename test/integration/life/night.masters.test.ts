// What an operator types at 3 a.m.: status of all hosts, doctor, the live view, the bundle.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { BrineMaster, saltVenv } from '@brine/testing';
import { BRINE } from '@brine/testing/checkouts';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, test } from 'vitest';

const MINION = 'night-1';
const OPTION_SECRET = 'night-option-secret';
/** Runs a program on a terminal of 24 rows and 80 columns, and passes on what is typed. */
const ON_A_TERMINAL = `
import fcntl, os, pty, select, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
while True:
    ready, _, _ = select.select([fd, 0], [], [])
    if 0 in ready:
        os.write(fd, os.read(0, 100))
    if fd in ready:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        os.write(1, data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

let master: BrineMaster;
let logs: string;

beforeAll(async () => {
  logs = mkdtempSync(join(tmpdir(), 'brine-night-'));
  master = await BrineMaster.start({
    gitfs_password: OPTION_SECRET,
    log_file: join(logs, 'master'),
    log_level_logfile: 'info',
    brine: { workers: 2 },
  });
  await master.startMinion(MINION);
  await master.acceptKeys([MINION]);
  await master.waitForMinions([MINION]);
}, 240_000);
afterAll(async () => {
  await master?.close();
  rmSync(logs, { recursive: true, force: true });
});

const findings = async (): Promise<{ level: string; check: string; text: string }[]> => {
  const { stdout } = await master.brine('doctor', ['--out', 'json']);
  return JSON.parse(stdout) as { level: string; check: string; text: string }[];
};

test('status --all has every service, with its release, and ends with 0', async () => {
  const { code, stdout, stderr } = await master.brine('status', ['--all', '--out', 'json']);
  const told = JSON.parse(stdout) as {
    trouble: string[];
    services: { service: string; name: string; ready: boolean; release: string }[];
  };
  expect({ code, stderr, trouble: told.trouble }).toEqual({ code: 0, stderr: '', trouble: [] });
  expect(told.services.map(({ name }) => name)).toEqual([
    ...['event-bus', 'http-api', 'job-cache-returner', 'publisher', 'req-gateway', 'runner-pool'],
    ...['syndic-relay', 'worker-pool-1', 'worker-pool-2'],
  ]);
  expect(new Set(told.services.map(({ release }) => release)).size).toBe(1);
  expect((await master.brine('status', ['--all'])).stdout).toMatch(/^serving +1 host, 9 services/);
});

test('doctor sees services, streams, PostgreSQL, ports and disks of a master that runs', async () => {
  const found = await findings();
  for (const check of ['services', 'streams', 'postgres', 'ports', 'release-skew']) {
    const one = found.find((finding) => finding.check === check);
    expect(one, check).toMatchObject({ level: 'ok' });
  }
  expect(found.some(({ check }) => check === 'disk' || check === 'disk-files')).toBe(true);
});

test('a service that hangs is named by status and doctor', async () => {
  const publisher = (await master.services()).find(({ name }) => name === 'publisher');
  const pid = Number(publisher?.pid);
  process.kill(pid, 'SIGSTOP');
  try {
    const { code, stdout } = await master.brine('status', ['--all']);
    expect(code).toBe(1);
    expect(stdout).toContain(`publisher of this host, pid ${pid}, does not answer: it hangs`);
  } finally {
    // It may have been replaced by now.
    try {
      process.kill(pid, 'SIGCONT');
    } catch (error) {
      expect(error).toMatchObject({ code: 'ESRCH' });
    }
  }
  await until(
    'all answer again',
    async () => (await master.brine('status', ['--all'])).code === 0,
    { withinMs: 60_000 },
  );
});

test('one picture has the jobs with their ledgers, and the minions', async () => {
  const ping = await master.brine('salt', [MINION, 'test.ping', '--out', 'json']);
  expect(ping.code).toBe(0);
  await until('the job is on the picture', async () => {
    const { code, stdout } = await master.brine('top', ['--once']);
    return code === 0 && /\d{20} test\.ping +night-1 +0 +1 +0 +0 /.test(stdout);
  });
  const { stdout } = await master.brine('top', ['--once']);
  expect(stdout).toMatch(/1 accepted/);
  expect(stdout).toMatch(/EVENTS\/store/);
});

test('without a terminal the live view says what to use', async () => {
  const { code, stderr } = await master.brine('top', []);
  expect(code).toBe(64);
  expect(stderr).toContain('use --once, or brine status --all');
});

test('on a terminal of 80 columns keys change the view, and q ends it', async () => {
  const { python } = await saltVenv('3008.2');
  const args = ['-c', ON_A_TERMINAL, process.execPath, BRINE, 'top', '-c', master.home.configDir];
  const env = { ...process.env, TERM: 'xterm', NO_COLOR: '1' };
  const child = spawn(python, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  await until('services are shown', () => text.includes('worker-pool-2'));
  child.stdin.write('2');
  await until('queues are shown', () => text.includes('EVENTS/store'));
  child.stdin.write('q');
  expect(await ended).toBe(0);
  // The terminal is as it was: its first page, with a cursor.
  expect(text).toMatch(/\x1b\[\?1049l(?:\x1b\[\?25h)?$/);
  expect(text.lastIndexOf('\x1b[?25h')).toBeGreaterThan(text.lastIndexOf('\x1b[?25l'));
  expect(text).not.toMatch(/\x1b\[[\d;]*m/);
});

test('the bundle has all parts and none of the secrets of the host', async () => {
  const file = join(master.sandbox.dir, 'night.tar.gz');
  const { code, stdout, stderr } = await master.brine('support-bundle', [file]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toContain(file);
  const tar = gunzipSync(await readFile(file));
  execFileSync('tar', ['-xzf', file, '-C', master.sandbox.dir]);
  const dir = readdirSync(master.sandbox.dir).find((name) => name.startsWith('brine-support-'));
  const textOf = (name: string): string =>
    readFileSync(join(master.sandbox.dir, dir ?? '', name), 'utf8');
  expect(textOf('cluster.txt')).toContain('worker-pool-2');
  expect(JSON.parse(textOf('streams.json'))).toHaveProperty('readers.EVENTS');
  expect(JSON.parse(textOf('postgres.json'))).toHaveProperty('settings.max_connections');
  expect(textOf('processes.txt')).toContain('Max open files');
  expect(textOf('logs/master.log').length).toBeGreaterThan(1_000);
  const { cacheDir, pkiDir } = master.home;
  const secrets = [
    OPTION_SECRET,
    (await readFile(join(cacheDir, '.root_key'), 'utf8')).trim(),
    ...['password', 'services-password'].map((name) =>
      readFileSync(join(cacheDir, 'brine', 'postgres', name), 'utf8').trim(),
    ),
    ...Object.values(
      JSON.parse(
        await readFile(join(cacheDir, 'brine', 'nats', 'credentials.json'), 'utf8'),
      ) as object,
    ).map(String),
    ...(await readFile(join(pkiDir, 'master.pem'), 'utf8')).split('\n').slice(1, -2),
  ];
  for (const secret of secrets) expect(tar.includes(secret)).toBe(false);
});
