import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BrineMaster, newestOf, saltVenv } from '@brine/testing';
import { type NotifySocket, notifySocket } from '@brine/testing/hosts';
import { until } from '@brine/testing/waits';
import { mapOf, unpack } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import { RequestClient } from '@brine/zmq';
import { afterAll, beforeAll, expect, test } from 'vitest';

const WAIT = { withinMs: 60_000 };
/** Salt accepts all keys by a literal true alone. */
const NO_SWITCH = 'auto_accept: "yes"\n';
const STRANGER = 'stranger';

let dir: string;
let systemd: NotifySocket;
let master: BrineMaster;
/** What was ready when the manager was told, and whether the port answered then. */
let atReady: Promise<{ readonly gateway: boolean; readonly answer: unknown }>;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'brine-life-'));
  systemd = await notifySocket(join(dir, 'notify'));
  const env = { NOTIFY_SOCKET: systemd.path, WATCHDOG_USEC: '2000000' };
  master = await BrineMaster.start(
    { auto_accept: 'yes', brine: { workers: 2 } },
    { env, onHome: ({ cacheDir, retPort }) => void (atReady = seenAtReady(cacheDir, retPort)) },
  );
}, 240_000);
afterAll(async () => {
  await master?.close();
  systemd?.[Symbol.dispose]();
  rmSync(dir, { recursive: true, force: true });
});

async function seenAtReady(cacheDir: string, retPort: number) {
  await until('the manager hears that it serves', () => systemd.words.includes('READY=1'), {
    withinMs: 120_000,
  });
  const state = readFileSync(join(cacheDir, 'brine', 'services.json'), 'utf8');
  const { services } = JSON.parse(state) as {
    services: readonly { readonly name: string; readonly state: string }[];
  };
  const gateway = services.find(({ name }) => name === 'req-gateway')?.state === 'ready';
  const client = new RequestClient({ endpoint: `tcp://127.0.0.1:${retPort}` });
  const body = clearEnvelope(mapOf({ cmd: 'ping' }));
  const answer = unpack(await client.request(body, { timeoutMs: 2_000 }));
  await client.close();
  return { gateway, answer };
}

const wordsSince = (count: number): readonly string[] => systemd.words.slice(count);

test('the service manager hears that it serves once 4506 answers, and then that all is well', async () => {
  expect(await atReady).toEqual({ gateway: true, answer: mapOf({ cmd: 'ping' }) });
  expect(systemd.words[0]).toBe('READY=1');
  await until('two beats of the watchdog', () => {
    return systemd.words.filter((word) => word === 'WATCHDOG=1').length >= 2;
  });
});

test('services do not know of the service manager', async () => {
  const pids = (await master.services()).flatMap(({ pid }) => pid ?? []);
  expect(pids.length).toBeGreaterThan(5);
  for (const pid of pids) {
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toMatch(/NOTIFY_SOCKET|WATCHDOG_/);
  }
});

test('SIGHUP reads the configuration again, says what it takes, and stops nothing', async () => {
  const before = await master.services();
  const path = join(master.home.configDir, 'master');
  const text = await readFile(path, 'utf8');
  const heard = systemd.words.length;
  await writeFile(path, `${text.replace(NO_SWITCH, '')}auto_accept: true\n`);
  process.kill(master.pid ?? NaN, 'SIGHUP');
  await until('it says what it takes', async () => {
    return /changed options need `brine restart`.*auto_accept/.test(await master.log());
  });
  await until('the manager hears of it', () => wordsSince(heard).includes('READY=1'));
  expect(wordsSince(heard).filter((word) => /^(?:RELOADING|READY)=/.test(word))).toEqual([
    'RELOADING=1',
    'READY=1',
  ]);
  await writeFile(path, 'a: [1, 2\n');
  process.kill(master.pid ?? NaN, 'SIGHUP');
  await until('it says that the file can not be used', async () => {
    return (await master.log()).includes('the master keeps its old one');
  });
  await writeFile(path, text);
  process.kill(master.pid ?? NaN, 'SIGHUP');
  await until('the change is taken back', async () => {
    return (await master.log()).split('changed options need `brine restart`').length > 2;
  });
  expect(await master.services()).toEqual(before);
});

test('SIGUSR1 writes stacks and queues of all services into one file', async () => {
  process.kill(master.pid ?? NaN, 'SIGUSR1');
  const file = await until('the log names the file', async () => {
    return /SIGUSR1 is taken.* file=(\S+)/.exec(await master.log())?.[1];
  });
  const text = readFileSync(file, 'utf8');
  for (const { name, pid } of await master.services()) {
    expect(text).toContain(`== ${name}, ready, pid ${pid}, since `);
  }
  expect(text.match(/^stack: idle|^stack, innermost first:/gm)?.length).toBe(
    (await master.services()).length,
  );
  expect(text).toContain('"peers": 0');
  expect(text).not.toContain('no facts');
});

test('a switch in words, or by a number, lets no key in: not at one start, not at another', async () => {
  const venv = await saltVenv(newestOf('3008'));
  const home = await master.sandbox.minion(STRANGER, master.home.retPort);
  master.sandbox.startMinion(venv, home);
  await asksInVain();
  const path = join(master.home.configDir, 'master');
  const text = await readFile(path, 'utf8');
  expect(text).toContain(NO_SWITCH);
  await writeFile(path, text.replace(NO_SWITCH, 'auto_accept: false\nopen_mode: 1\n'));
  await master.restart();
  const { stdout } = await master.brine('key', ['-d', STRANGER, '-y']);
  expect(stdout).toContain(STRANGER);
  await asksInVain();
}, 180_000);

/** Each start sees no key before the minion asks it. */
async function asksInVain(): Promise<void> {
  await until('its key waits', async () => (await keys()).minions_pre.length > 0, WAIT);
  expect(await keys()).toMatchObject({ minions: [], minions_pre: [STRANGER] });
}

async function keys(): Promise<Record<'minions' | 'minions_pre', readonly string[]>> {
  const { stdout } = await master.brine('key', ['-L', '--out', 'json']);
  return JSON.parse(stdout) as Awaited<ReturnType<typeof keys>>;
}

test(
  'a stop is told, and leaves nothing that a start could stumble over',
  async () => {
    const { configDir, cacheDir } = master.home;
    expect(readFileSync(join(configDir, 'pid'), 'utf8')).toBe(String(master.pid));
    const heard = systemd.words.length;
    await master.stop();
    expect(wordsSince(heard)).toContain('STOPPING=1');
    for (const path of [join(configDir, 'pid'), ...leftovers(cacheDir)]) {
      expect([path, existsSync(path)]).toEqual([path, false]);
    }
  },
  WAIT.withinMs,
);

function leftovers(cacheDir: string): string[] {
  return ['master.lock', 'services.json'].map((name) => join(cacheDir, 'brine', name));
}
