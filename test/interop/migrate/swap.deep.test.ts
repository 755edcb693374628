import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import {
  SALT_VERSIONS,
  type SaltConfig,
  type SaltHome,
  type SaltOutput,
  type SaltPorts,
  type SaltProcess,
  SaltSandbox,
  type SaltVenv,
  saltVenv,
  type SaltVersion,
} from '@brine/testing';
import { BRINE, brineEnv } from '@brine/testing/checkouts';
import { drawn } from '@brine/testing/circle';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, run, started, stopBrine } from './both-masters.ts';

/** Masters that are swapped, one after the other, over the same minions and the same files. */
const MASTERS = drawn('stock masters', ['3006.26', '3008.2'] as const, 1);
/** Each release once, and the first ones twice. */
const FLEET_SIZE = 10;
const FLEET: ReadonlyMap<string, SaltVersion> = new Map(
  Array.from({ length: FLEET_SIZE }, (_, at) => {
    const version = SALT_VERSIONS[at % SALT_VERSIONS.length];
    if (version === undefined) throw new Error('no release');
    return [`m${at}-${version}`, version];
  }),
);
const IDS = [...FLEET.keys()].sort();
const COMMAND_MS = 120_000;
/**
 * Once a publisher went away, a stock one too, minions of 3007.17 connect again and again and miss
 * jobs. Those of 3008.5 set up anew, and may lose a return of that moment (docs/outages.md). This
 * option of the minion keeps them from it.
 */
const CALM = { zmq_monitor: false };
const CURES: Partial<Record<SaltVersion, SaltConfig>> = { '3007.17': CALM, '3008.5': CALM };
/** Each process of theirs that returns to a new master logs in by itself. */
const WITHOUT_SESSIONS = /-3006\.5$/;
const USER = ['-a', 'sharedsecret', '--username', 'fred', '--password', 'it is known'];
/** What a program of a user with a token does; prints the answers, or the name of the error. */
const WITH_TOKEN = `
import json, sys, salt.client
client = salt.client.LocalClient(sys.argv[1])
try:
    print(json.dumps(client.cmd('m0*', sys.argv[3], token=sys.argv[2], timeout=20)))
except Exception as error:
    print(json.dumps(type(error).__name__))
`;

type Json = Record<string, unknown>;

let sandbox: SaltSandbox;
let home: SaltHome & SaltPorts;
/** Of the stock master whose turn it is. */
let installed: SaltVenv;
const minions = new Map<string, SaltProcess>();

beforeAll(async () => {
  sandbox = await SaltSandbox.create();
  // PostgreSQL runs as another user under root, and must reach its directory.
  await chmod(sandbox.dir, 0o711);
  home = await sandbox.master({
    auto_accept: false,
    minimum_auth_version: 0,
    gather_job_timeout: 4,
    timeout: 10,
    pidfile: join(sandbox.dir, 'master.pid'),
    external_auth: { sharedsecret: { fred: ['test.*'] } },
    sharedsecret: 'it is known',
    brine: { workers: 1, state_dir: join(sandbox.dir, 'brine-state') },
  });
  await chmod(home.configDir, 0o711);
  await writeTree(join(home.configDir, 'pillar'), {
    'top.sls': "base:\n  '*':\n    - role\n",
    'role.sls': 'role: web\n',
  });
  for (const [id, version] of FLEET) {
    const config = { mine_functions: { 'test.ping': [] }, ...CURES[version] };
    const minion = await sandbox.minion(id, home.retPort, config);
    minions.set(id, sandbox.startMinion(await saltVenv(version), minion));
  }
}, 900_000);

afterAll(async () => {
  await stopBrine(join(sandbox.dir, 'brine-state'));
  await sandbox?.close();
});

describe.each(MASTERS)('a stock master of %s, its ten minions, and Brine', (version) => {
  let stock: SaltProcess | undefined;
  let jid: string;
  let ownJid: string;
  let token: string;
  let pids: Json;

  // Also where a test failed: the next master has the same ports.
  afterAll(async () => {
    await stock?.stop();
    await stopBrine(join(sandbox.dir, 'brine-state'));
  });

  it('serves them first', { timeout: 600_000 }, async () => {
    installed = await saltVenv(version);
    // Tokens of the release before are there in the files of that release.
    await rm(join(sandbox.dir, 'home'), { recursive: true });
    await mkdir(join(sandbox.dir, 'home'));
    stock = await sandbox.startMaster(installed, home);
    await acceptAll(version);
    await until(
      'all minions answer the stock master',
      async () => {
        const answers = await json(saltOf(version, ['*', 'test.ping', '--static']));
        return IDS.every((id) => answers[id] === true);
      },
      { withinMs: 180_000 },
    );
    await saltOf(version, ['*', 'saltutil.refresh_pillar']);
    await saltOf(version, ['*', 'mine.update']);
    jid = await started(saltOf(version, ['*', 'test.echo', 'before', '--async']));
    await until('the stock master has all returns', async () => {
      const found = await json(stockRun(version, ['jobs.lookup_jid', jid]));
      return IDS.every((id) => found[id] === 'before');
    });
    token = await makeToken(version);
    // Keys of three more states.
    const key = await readFile(join(home.pkiDir, 'minions', IDS[0] ?? ''), 'utf8');
    for (const shelf of ['minions_pre', 'minions_rejected', 'minions_denied']) {
      await writeFile(join(home.pkiDir, shelf, `${shelf}.example`), key);
    }
    pids = await processesOf();
  });

  it('is reported on while it runs, and nothing changes', async () => {
    const before = await readdir(home.configDir);
    const { code, stdout, stderr } = await brine(['migrate', 'from-stock', ...both(), '--dry-run']);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('breaks: 0');
    expect(stdout).toContain(`keys: ${FLEET_SIZE} accepted, 1 pending, 1 rejected, 1 denied`);
    expect(await readdir(home.configDir)).toEqual(before);
    expect((await saltOf(version, ['m0*', 'test.ping'])).code).toBe(0);
  });

  it(
    'hands over: same jobs and targets at once, history visible',
    { timeout: 600_000 },
    async () => {
      // It ends once Brine serves: a stock minion gives a return up after some tries.
      const gate = join(sandbox.dir, `gate-${version}`);
      const waits = `for n in $(seq 600); do test -e ${gate} && break; sleep 0.5; done; echo over`;
      const spanning = await started(saltOf(version, ['*', 'cmd.run', waits, '--async']));
      const since = new Date().toISOString();
      const startedAt = performance.now();
      const { code, stdout, stderr } = await brine([
        ...['migrate', 'from-stock', ...both(), '--hand-over', '--start'],
      ]);
      expect(code, `${stdout}${stderr}`).toBe(0);
      await stock?.exited;
      await until('Brine serves', async () => (await brine(['status'])).code === 0, {
        withinMs: 60_000,
      });
      const movedMs = performance.now() - startedAt;
      await writeFile(gate, '');

      for (const target of [
        ['*'],
        ['-G', 'kernel:Linux'],
        ['-I', 'role:web'],
        ['-S', '0.0.0.0/0'],
        ['-C', 'G@kernel:Linux and I@role:web'],
      ]) {
        const answers = await json(brine(['salt', ...target, ...PING, ...AS_JSON]));
        expect(answers, target.join(' ')).toEqual(ALL_TRUE);
      }
      const found = await json(brine(['run', 'jobs.lookup_jid', jid, ...AS_JSON]));
      expect(found).toEqual(allOf('before'));
      const mine = await json(brine(['run', 'mine.get', '*', 'test.ping', ...AS_JSON]));
      expect(mine).toEqual(ALL_TRUE);
      await expectTokenWorks(version, token);
      expect(await keys()).toEqual(allKeys());
      // The stock command of that release, beside Brine.
      expect(await json(saltOf(version, ['*', ...PING]))).toEqual(ALL_TRUE);
      await until(
        'a job that ran meanwhile is returned',
        async () => {
          const returned = await json(brine(['run', 'jobs.lookup_jid', spanning, ...AS_JSON]));
          expect(returned).toEqual(allOf('over'));
          return true;
        },
        { withinMs: 90_000 },
      );
      ownJid = await started(brine(['salt', '*', 'test.echo', 'meanwhile', '--async']));
      await until('Brine has all returns', async () => {
        const returned = await json(brine(['run', 'jobs.lookup_jid', ownJid, ...AS_JSON]));
        return IDS.every((id) => returned[id] === 'meanwhile');
      });
      expect(await processesOf()).toEqual(pids);

      const logIns = await logInsSince(since);
      process.stderr.write(`swap of ${version}: ${Math.round(movedMs)} ms; ${inWords(logIns)}\n`);
      for (const id of IDS) {
        const count = logIns.get(id)?.length ?? 0;
        expect(count, id).toBeGreaterThan(0);
        expect(count, id).toBeLessThanOrEqual(WITHOUT_SESSIONS.test(id) ? 2 : 1);
      }
    },
  );

  it('takes over again, and works as before', { timeout: 600_000 }, async () => {
    const { code, stdout, stderr } = await brine([
      ...['migrate', 'to-stock', ...both(), '--hand-over'],
    ]);
    expect(code, `${stdout}${stderr}`).toBe(0);
    expect(stdout).toContain(`(Salt ${version})`);
    stock = await sandbox.startMaster(await saltVenv(version), home);
    // A minion may be away from 4505 for a moment; a stock master sends no job to it again.
    await until(
      'all minions answer the stock master',
      async () => {
        expect(await json(saltOf(version, ['*', 'test.ping', '--static']))).toEqual(ALL_TRUE);
        return true;
      },
      { withinMs: 90_000 },
    );
    for (const target of [['*'], ['-G', 'kernel:Linux'], ['-I', 'role:web']]) {
      const answers = await json(saltOf(version, [...target, ...PING]));
      expect(answers, target.join(' ')).toEqual(ALL_TRUE);
    }
    for (const [known, text] of [
      [jid, 'before'],
      [ownJid, 'meanwhile'],
    ] as const) {
      const found = await json(stockRun(version, ['jobs.lookup_jid', known]));
      expect(found).toEqual(allOf(text));
    }
    await expectTokenWorks(version, token);
    expect(await keys()).toEqual(allKeys());
    expect(await processesOf()).toEqual(pids);
  });
});

it(
  'a migration that is killed again and again ends as one that was not',
  { timeout: 180_000 },
  async () => {
    // The last master is stopped; its files are all there. Another home takes them.
    const target = join(sandbox.dir, 'other');
    const config = {
      user: userInfo().username,
      pki_dir: join(target, 'pki'),
      cachedir: join(target, 'cache'),
      sock_dir: join(target, 'sock'),
      pidfile: join(target, 'pid'),
      log_file: join(target, 'log'),
      publish_port: home.publishPort,
      ret_port: home.retPort,
      brine: { workers: 1, state_dir: join(target, 'state') },
    };
    await writeTree(target, { master: JSON.stringify(config) });
    await chmod(target, 0o711);
    const args = [BRINE, 'migrate', 'from-stock', '--stock', home.configDir, '-c', target];
    for (const afterMs of [150, 400, 900, 1_500, 2_500]) await killedAfter(args, afterMs);
    const shelf = join(target, 'pki', 'minions');
    await ageDrafts(shelf);
    const { code, stderr } = await run(sandbox, installed, process.execPath, args);
    expect(code, stderr).toBe(0);
    const again = await run(sandbox, installed, process.execPath, args);
    expect(again.stdout).toMatch(/^jobs: 0 moved, \d+ there already$/m);
    expect(again.stdout).toMatch(/^returns: 0 moved, \d+ there already$/m);
    expect(again.stdout).toContain(`grains: 0 moved, ${FLEET_SIZE} there already`);
    expect((await readdir(shelf)).sort()).toEqual(IDS);
  },
);

/** Makes what a kill left half written old enough to be removed, as it would be for an operator. */
async function ageDrafts(dir: string): Promise<void> {
  await writeFile(join(dir, '.1-0123456789ab.new'), 'half a k');
  const old = new Date(Date.now() - 3_600_000);
  for (const name of await readdir(dir)) {
    if (name.startsWith('.')) await utimes(join(dir, name), old, old);
  }
}

const AS_JSON = ['--out', 'json'];
/** Ten minions fork for it on two cores; none is asked meanwhile whether it is at work. */
const PING = ['test.ping', '--static', '-t', '60'];
const ALL_TRUE = Object.fromEntries(IDS.map((id) => [id, true]));

function both(): readonly string[] {
  return ['--stock', home.configDir];
}

function allKeys(): Json {
  return {
    minions: IDS,
    minions_pre: ['minions_pre.example'],
    minions_rejected: ['minions_rejected.example'],
    minions_denied: ['minions_denied.example'],
  };
}

/** The names that the shelves hold. */
async function keys(): Promise<Json> {
  const shelves = ['minions', 'minions_pre', 'minions_rejected', 'minions_denied'];
  const names = await Promise.all(shelves.map((one) => readdir(join(home.pkiDir, one))));
  return Object.fromEntries(shelves.map((one, at) => [one, names[at]?.sort()]));
}

async function saltOf(version: SaltVersion, args: readonly string[]): Promise<SaltOutput> {
  const venv = await saltVenv(version);
  const shown = args.includes('--static') ? [...args, ...AS_JSON] : args;
  return sandbox.run(venv, 'salt', home, shown, COMMAND_MS);
}

async function stockRun(version: SaltVersion, args: readonly string[]): Promise<SaltOutput> {
  const venv = await saltVenv(version);
  return sandbox.run(venv, 'salt-run', home, [...args, ...AS_JSON], COMMAND_MS);
}

/** A Brine command on the master's own configuration. */
function brine([command = '', ...args]: readonly string[]): Promise<SaltOutput> {
  const words = command === 'migrate' ? [command, ...args, '-c', home.configDir] : undefined;
  const all = [BRINE, ...(words ?? [command, '-c', home.configDir, ...args])];
  return run(sandbox, installed, process.execPath, all);
}

/** Starts a command and ends it by SIGKILL, if it has not ended by then. */
function killedAfter(args: readonly string[], afterMs: number): Promise<void> {
  const options = { env: brineEnv(sandbox), timeout: afterMs, killSignal: 'SIGKILL' } as const;
  return new Promise((resolve) => {
    execFile(process.execPath, [...args], options, () => resolve());
  });
}

/** The accepted log-ins that Brine had since a time: unix ms by minion. */
async function logInsSince(time: string): Promise<ReadonlyMap<string, readonly number[]>> {
  const { stdout, stderr, code } = await brine([
    ...['events', '--from', time, '--tag', 'salt/auth', '--no-follow', '--json'],
  ]);
  expect(code, stderr).toBe(0);
  const times = new Map<string, number[]>();
  for (const line of stdout.split('\n').filter((one) => one !== '')) {
    const { time: at, data } = JSON.parse(line) as { readonly time: string; readonly data: Json };
    if (data['act'] !== 'accept' || typeof data['id'] !== 'string') continue;
    times.set(data['id'], [...(times.get(data['id']) ?? []), Date.parse(at)]);
  }
  return times;
}

function inWords(logIns: ReadonlyMap<string, readonly number[]>): string {
  const counts = IDS.map((id) => `${id} ${logIns.get(id)?.length ?? 0}`);
  const firsts = [...logIns.values()].map(([first = 0]) => first);
  const spread = Math.max(...firsts) - Math.min(...firsts);
  return `log-ins: ${counts.join(', ')}; the first ones spread over ${spread} ms`;
}

/** The processes of each minion: the one that watches, and those that it started. */
async function processesOf(): Promise<Json> {
  const all: Json = {};
  for (const [id, { pid = 0 }] of minions) {
    expect(await readFile(`/proc/${pid}/cmdline`, 'utf8'), id).toContain('salt-minion');
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
    all[id] = [pid, ...children.trim().split(' ')];
  }
  return all;
}

/** Accepts the minions that ask; later ones are known. */
async function acceptAll(version: SaltVersion): Promise<void> {
  const venv = await saltVenv(version);
  await until(
    'all minions are accepted',
    async () => {
      const accepted = await readdir(join(home.pkiDir, 'minions'));
      if (IDS.every((id) => accepted.includes(id))) return true;
      await sandbox.run(venv, 'salt-key', home, ['-a', 'm*', '-y'], COMMAND_MS);
      return false;
    },
    { withinMs: 180_000 },
  );
}

/** Has the stock command make a token, and gives it. */
async function makeToken(version: SaltVersion): Promise<string> {
  const dir = join(home.cacheDir, 'tokens');
  const before = await readdir(dir).catch((): string[] => []);
  const { stdout, stderr } = await saltOf(version, ['m0*', 'test.ping', '-T', ...USER]);
  const made = (await readdir(dir)).filter((name) => !before.includes(name));
  expect(made, `${stdout}${stderr}`).toHaveLength(1);
  return made[0]?.replace(/\.p$/, '') ?? '';
}

/** Its user may do what its rights say, and no more. */
async function expectTokenWorks(version: SaltVersion, token: string): Promise<void> {
  const { python } = await saltVenv(version);
  const call = async (fun: string): Promise<unknown> => {
    const master = join(home.configDir, 'master');
    const output = await run(sandbox, installed, python, ['-c', WITH_TOKEN, master, token, fun]);
    expect(output.stdout, output.stderr).not.toBe('');
    return JSON.parse(output.stdout);
  };
  expect(await call('test.ping')).toEqual({ [IDS[0] ?? '']: true });
  expect(await call('grains.items')).toMatch(/^Auth/);
}

function allOf(value: unknown): Json {
  return Object.fromEntries(IDS.map((id) => [id, value]));
}

async function writeTree(root: string, files: Record<string, string>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
}
