import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadMasterConfig } from '@brine/config';
import { createLog } from '@brine/telemetry';
import { until } from '@brine/testing/waits';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { parseServiceArguments } from '../arguments.ts';
import { masterServices } from './master-services.ts';
import { serviceRestarts } from './restart-delays.ts';
import type { ServiceSpec } from './service-process.ts';
import { livingSupervisor, readState, stateFile } from './state-file.ts';
import { superviseServices, type Supervisor } from './supervisor.ts';

const FIXTURES = fileURLToPath(new URL('../../fixtures/', import.meta.url));
const CHILD = join(FIXTURES, 'child.mjs');

let dir: string;
let running: Supervisor[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'brine-supervisor-'));
});

afterEach(async () => {
  await Promise.all(running.map((supervisor) => supervisor.stop()));
  running = [];
  rmSync(dir, { recursive: true, force: true });
});

function specOf(name: string, stage = 0, env: Record<string, string> = {}): ServiceSpec {
  return { name, entry: CHILD, args: [], env, stage };
}

function supervise(specs: readonly ServiceSpec[], lines: string[] = [], stopDeadlineMs = 3000) {
  const supervisor = superviseServices(specs, {
    log: createLog({ service: 'test', level: 'quiet' }),
    onLine: ({ service }, line) => void lines.push(`${service}: ${line}`),
    stateDir: dir,
    stopDeadlineMs,
  });
  running.push(supervisor);
  return supervisor;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A process whose parent has not waited for it yet still has a number; it is dead.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

test('stages start one after the other and stop the other way', async () => {
  const lines: string[] = [];
  const supervisor = supervise([specOf('door', 1), specOf('base', 0, { READY_MS: '100' })], lines);
  await supervisor.started;
  expect(supervisor.ready()).toBe(true);
  await supervisor.stop();
  expect(lines).toEqual([
    'base: base starts',
    'door: door starts',
    'door: door stops',
    'base: base stops',
  ]);
});

test('the list of processes is for its owner only, and is gone after the stop', async () => {
  const supervisor = supervise([specOf('base')]);
  await supervisor.started;
  const state = readState(dir)!;
  expect(state.pid).toBe(process.pid);
  expect(state.services[0]).toMatchObject({ name: 'base', state: 'ready', healthPort: 1234 });
  expect(statSync(stateFile(dir)).mode & 0o777).toBe(0o600);
  await supervisor.stop();
  expect(readState(dir)).toBe(undefined);
});

test('a service that is killed is back', async () => {
  const supervisor = supervise([specOf('base')]);
  await supervisor.started;
  const { pid } = supervisor.services()[0]!;
  process.kill(pid!, 'SIGKILL');
  await until('it is restarted', () => supervisor.services()[0]!.restarts === 1);
  await until('all serve', () => supervisor.ready());
  expect(supervisor.services()[0]!.pid).not.toBe(pid);
});

test('a service that does not stop is killed at the deadline', async () => {
  const supervisor = supervise([specOf('base', 0, { STUBBORN: '1' })], [], 200);
  await supervisor.started;
  const { pid } = supervisor.services()[0]!;
  // By itself the child never ends.
  await supervisor.stop();
  expect(isAlive(pid!)).toBe(false);
});

test('stopping while a restart waits leaves nothing behind', async () => {
  const supervisor = supervise([specOf('base')]);
  await supervisor.started;
  for (let i = 1; i <= 3; i += 1) {
    await until('all serve', () => supervisor.ready());
    process.kill(supervisor.services()[0]!.pid!, 'SIGKILL');
    await until(`restart ${i}`, () => supervisor.services()[0]!.restarts === i);
  }
  await supervisor.stop();
  expect(supervisor.services()[0]).toMatchObject({ state: 'stopped', pid: undefined });
});

test('a service whose process can not be spawned is started once it can', async () => {
  const node = process.execPath;
  onTestFinished(() => void (process.execPath = node));
  // The system's error takes the path that it takes where the host has no room for a process.
  process.execPath = '/nonexistent/node';
  const supervisor = supervise([specOf('base')]);
  await until('it was tried again', () => supervisor.services()[0]!.restarts >= 2);
  process.execPath = node;
  await until('all serve', () => supervisor.ready());
});

test('a stop ends although no process could be spawned', async () => {
  const node = process.execPath;
  onTestFinished(() => void (process.execPath = node));
  process.execPath = '/nonexistent/node';
  const supervisor = supervise([specOf('base')]);
  await supervisor.stop();
  expect(supervisor.services()[0]).toMatchObject({ state: 'stopped', pid: undefined });
});

test('a stop of a process that could not be spawned signals no other one', async () => {
  const args = ['--import', 'tsx', '--conditions=source', join(FIXTURES, 'unspawned.mjs')];
  // Its group is its own: as it was, the signal went to all of it.
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(printed).toBe('ENOENT\nstopped\n');
});

test('a spawn that throws is tried again, and its supervisor goes on', async () => {
  // Node itself refuses the argument, as it does where the system has no memory.
  const supervisor = supervise([{ ...specOf('base'), args: ['\0'] }, specOf('other')]);
  await until('it was tried again', () => supervisor.services()[0]!.restarts >= 2);
  supervisor.use([specOf('base')]);
  await until('all serve', () => supervisor.ready());
});

test('no service outlives a supervisor that is killed', async () => {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--conditions=source', join(FIXTURES, 'supervise.mjs'), CHILD, dir],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  await until('a line is printed', () => printed.includes('\n'));
  const pid = Number(printed);
  expect(isAlive(pid)).toBe(true);
  expect(livingSupervisor(readState(dir))).toBe(child.pid);
  child.kill('SIGKILL');
  await until('the service ends', () => !isAlive(pid));
  await until('the supervisor is gone', () => livingSupervisor(readState(dir)) === undefined);
});

test('the first restart is at once, the others wait longer, and none is the last', () => {
  const backoff = serviceRestarts();
  const delays = Array.from({ length: 8 }, () => backoff.next(100));
  expect(delays).toEqual([0, 200, 500, 1000, 2000, 5000, 5000, 5000]);
  expect(backoff.next(30_000)).toBe(0);
});

test('only the job cache gets the URL of PostgreSQL, and each service its own to NATS', () => {
  const specs = masterServices({
    appsDir: '/apps',
    confFile: '/etc/salt/master',
    workers: 2,
    runners: 1,
    natsUrl: (service) => `nats://${service}@n`,
    databaseUrl: 'postgres://p',
    host: 'h1',
  });
  expect(specs.map(({ name, stage }) => `${stage} ${name}`)).toEqual([
    '0 event-bus',
    '1 job-cache-returner',
    '1 worker-pool-1',
    '1 worker-pool-2',
    '1 runner-pool',
    '1 publisher',
    '2 req-gateway',
    '2 syndic-relay',
    '2 http-api',
  ]);
  const told = specs.filter(({ env }) => env['DATABASE_URL'] !== '');
  expect(told.map(({ name }) => name)).toEqual(['job-cache-returner']);
  expect(specs[2]).toMatchObject({
    entry: '/apps/worker-pool/dist/main.js',
    args: ['-c', '/etc/salt'],
    env: { NATS_URL: 'nats://worker-pool@n', BRINE_CONFIG_DIR: '/etc/salt', BRINE_HOST: 'h1' },
  });
});

test('services read the file that was read, also one that is not named master', () => {
  const counts = { workers: 1, runners: 1 };
  const common = { ...counts, appsDir: '/apps', natsUrl: () => '', databaseUrl: '', host: 'h1' };
  for (const { args, env } of masterServices({ ...common, confFile: '/etc/x/prod.conf' })) {
    const { configDir } = parseServiceArguments(args);
    const { options } = loadMasterConfig({ configDir, env });
    expect([options.confFile, options.configDir]).toEqual(['/etc/x/prod.conf', '/etc/x']);
  }
});
