import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MASTER_SERVICES } from '@brine/service/processes';
import { type SaltHome, type SaltPorts, SaltProcess, SaltSandbox } from '@brine/testing';
import { BRINE, brineEnv } from '@brine/testing/checkouts';
import { drawn } from '@brine/testing/circle';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const run = promisify(execFile);
const WAIT = { withinMs: 90_000 };

let sandbox: SaltSandbox;
let home: SaltHome & SaltPorts;
let env: Record<string, string>;
/** What each step of the matrix came to. */
const table: string[] = [];

beforeAll(async () => {
  sandbox = await SaltSandbox.create();
  env = brineEnv(sandbox);
  await chmod(sandbox.dir, 0o711);
  home = await sandbox.master({ brine: { workers: 1, http: { port: 0 } } });
  for (const dir of [home.configDir, home.cacheDir]) await chmod(dir, 0o711);
});
afterAll(async () => {
  process.stdout.write(`${table.join('\n')}\n`);
  await sandbox?.close();
});

function start(): SaltProcess {
  const args = [BRINE, 'master', '-c', home.configDir, '-l', 'info'];
  return SaltProcess.start({ command: process.execPath, args, env, logFile: home.logFile });
}

const state = (...path: readonly string[]): string => join(home.cacheDir, 'brine', ...path);

interface Service {
  readonly name: string;
  readonly state: string;
  readonly pid?: number;
}

interface State {
  readonly pid?: number;
  readonly services: readonly Service[];
}

function services(): State {
  try {
    return JSON.parse(readFileSync(state('services.json'), 'utf8')) as State;
  } catch {
    return { services: [] }; // Not there yet.
  }
}

const isReady = (name: string): boolean =>
  services().services.some((one) => one.name === name && one.state === 'ready');
const allServe = (): boolean => MASTER_SERVICES.every(isReady);

/** A file of initdb is there. */
function isBeingMade(): boolean {
  if (!existsSync(state('postgres'))) return false;
  const rooms = readdirSync(state('postgres')).filter((name) => name.startsWith('making-'));
  return rooms.some((room) => existsSync(state('postgres', room, 'data', 'PG_VERSION')));
}

/** The next start serves, as if nothing had been; and its stop leaves nothing behind. */
async function startsClean(): Promise<number> {
  const startedAt = performance.now();
  const next = start();
  try {
    return await servesClean(next, startedAt);
  } finally {
    // Where that did not hold, what comes after has a host of its own all the same.
    await next.kill();
  }
}

async function servesClean(next: SaltProcess, startedAt: number): Promise<number> {
  // What a master that was killed wrote stands there until then.
  const serves = (): boolean => services().pid === next.pid && allServe();
  await until('the next start serves', serves, WAIT);
  const ms = Math.round(performance.now() - startedAt);
  const { stdout } = await run(process.execPath, [BRINE, 'status', '-c', home.configDir], { env });
  expect(stdout).toContain('req-gateway');
  expect(readFileSync(join(home.configDir, 'pid'), 'utf8')).toBe(String(next.pid));
  process.kill(next.pid ?? NaN, 'SIGTERM');
  expect(await next.exited).toBe(0);
  const left = [join(home.configDir, 'pid'), state('master.lock'), state('services.json')];
  expect(left.filter((path) => existsSync(path))).toEqual([]);
  expect((await readdir(home.pkiDir)).filter((name) => /\.(?:next|tmp)/.test(name))).toEqual([]);
  return ms;
}

/** A step of a start, by what it leaves that a look can see. */
interface Step {
  readonly name: string;
  readonly sign: () => boolean;
  /** What has to be away before, so that the start makes it. */
  readonly without?: () => readonly string[];
}

/** In the order of a start; but for the first, which is for a directory without data. */
const STEPS: readonly Step[] = [
  { name: 'data of PostgreSQL half made', sign: isBeingMade },
  { name: 'state directory taken', sign: () => existsSync(state('master.lock')) },
  { name: 'pid file written', sign: () => existsSync(join(home.configDir, 'pid')) },
  {
    name: 'keys there',
    sign: () => existsSync(join(home.pkiDir, 'master.pem')),
    without: () => [home.pkiDir, state('nats')],
  },
  {
    name: 'NATS has its directory',
    sign: () => existsSync(state('nats')),
    without: () => [state('nats')],
  },
  {
    name: 'PostgreSQL runs',
    sign: () => existsSync(state('postgres', 'data', 'postmaster.pid')),
  },
  { name: 'services are named', sign: () => existsSync(state('services.json')) },
  { name: 'first stage serves', sign: () => isReady('event-bus') },
  { name: 'second stage serves', sign: () => isReady('publisher') },
  { name: 'all serve', sign: allServe },
];

describe('a start that is killed at any step is followed by one that serves', () => {
  test.each(drawn('steps of a start', STEPS, 4, ({ name }) => name))(
    '$name',
    async ({ name, sign, without }) => {
      for (const path of without?.() ?? []) await rm(path, { recursive: true, force: true });
      // The supervisor alone in one half: its servers and services live on for a moment.
      const wholeGroup = STEPS.findIndex((step) => step.name === name) % 2 === 0;
      const killed = start();
      await until('the step', sign, WAIT);
      const pid = killed.pid ?? 0;
      process.kill(wholeGroup ? -pid : pid, 'SIGKILL');
      await killed.exited;
      const ms = await startsClean();
      table.push(`| ${name} | ${wholeGroup ? 'all' : 'supervisor'} | serves after ${ms} ms |`);
    },
    180_000,
  );
});

describe('what an earlier life left does not keep a master away', () => {
  test('pid files, locks, lists of services and sockets of the dead', async () => {
    const dead = spawn('true');
    await once(dead, 'exit');
    const living = spawn('sleep', ['1000']);
    await once(living, 'spawn');
    try {
      await mkdir(state(), { recursive: true });
      // The number is another program's by now.
      writeFileSync(join(home.configDir, 'pid'), String(living.pid));
      writeFileSync(state('master.lock'), `${living.pid} 1`);
      writeFileSync(
        state('services.json'),
        JSON.stringify({ pid: dead.pid, startedAt: '', services: [] }),
      );
      for (const name of ['master_event_pub.ipc', 'master_event_pull.ipc', 'publish_pull.ipc']) {
        await staleSocket(join(home.sockDir, name));
      }
      table.push(
        `| stale pid, lock, state, sockets | - | serves after ${await startsClean()} ms |`,
      );
    } finally {
      living.kill();
    }
  });

  test('modes that let everyone in are closed, as in Salt', async () => {
    await chmod(home.pkiDir, 0o777);
    await startsClean();
    const { stdout } = await run('stat', ['-c', '%a', home.pkiDir]);
    expect(stdout.trim()).toBe('700');
    table.push('| pki_dir 0777 | - | 0700, serves |');
  });
});

describe('a full disk is a clear refusal', () => {
  test('and the next start serves when there is room', async (context) => {
    if (process.getuid?.() !== 0) return context.skip('only root can mount a small disk');
    await rm(state(), { recursive: true, force: true });
    await mkdir(state(), { recursive: true });
    await run('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=711', 'tmpfs', state()]);
    try {
      await writeFile(state('filler'), Buffer.alloc(1_000_000)).catch(() => undefined);
      const refused = start();
      expect(await refused.exited).toBe(28);
      const log = await refused.log();
      expect(log.trim().split('\n').at(-1)).toMatch(/^brine master: .*\/brine.*no space left/i);
      expect(existsSync(join(home.configDir, 'pid'))).toBe(false);
      expect((await readdir(state())).sort()).toEqual(['filler']);
      table.push('| disk full | - | exit 28, one line |');
    } finally {
      await run('umount', [state()]);
    }
    await startsClean();
  });
});

/** A socket without a server, as a killed process leaves it. */
async function staleSocket(path: string): Promise<void> {
  await rm(path, { force: true });
  const child = spawn(process.execPath, [
    '-e',
    `const end = () => process.kill(process.pid, 9);
    require('node:net').createServer().listen(process.argv[1], end)`,
    path,
  ]);
  await once(child, 'exit');
  expect(existsSync(path)).toBe(true);
}
