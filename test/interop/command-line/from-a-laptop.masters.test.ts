// `brine --api` from an empty directory, beside the same commands on the master's host.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { chmod, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BrineMaster, freePorts, newestOf, saltVenv } from '@brine/testing';
import { BRINE } from '@brine/testing/checkouts';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const PASSWORD = 'lab-secret';
const STOCK = 'web1';
const OWN = 'db1';
const IDS = [STOCK, OWN];
/** Accepted, and never there. */
const DEAD = 'dead1';

interface Printed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let master: BrineMaster;
let url = '';
let laptop = '';
let jid = '';

/** Runs a command as on another machine: no file of the master, no variable of it. */
async function elsewhere(
  args: readonly string[],
  { env = {}, input = '' }: { readonly env?: Record<string, string>; readonly input?: string } = {},
): Promise<Printed> {
  return new Promise((resolve, reject) => {
    const options = {
      env: { PATH: process.env['PATH'] ?? '', HOME: laptop, ...env },
      cwd: laptop,
      timeout: 90_000,
    };
    const child = execFile(process.execPath, [BRINE, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, stdout, stderr });
      else reject(new Error(`${args.join(' ')}: ${stdout}${stderr}`, { cause: error }));
    });
    child.stdin?.end(input);
  });
}

async function logIn(user: string, home = laptop): Promise<Printed> {
  return elsewhere(['login', url, '--eauth', 'sharedsecret', '--username', user], {
    input: `${PASSWORD}\n`,
    env: { HOME: home },
  });
}

/** Leaves out what two runs of a command do not share. */
function comparable({ code, stdout, stderr }: Printed, isUnordered: boolean): Printed {
  const plain = (text: string): string => {
    const same = text
      .replace(/\b\d{20}\b/g, '<JID>')
      .replace(/\d{4}, \w{3} \d\d \d\d:\d\d:\d\d\.\d{6}/g, '<START>')
      .replace(/\b\d\d:\d\d:\d\d\.\d{3,6}\b/g, '<TIME>')
      .replace(/[\d.]+ ?(ms|s)\b/g, '<SPAN>')
      .replace(/\b(User: *\n? *|"User": ")(root|full)\b/g, '$1<USER>')
      .replace(/(user:?\s+)(root|full)\b/g, '$1<USER>');
    return isUnordered ? same.split('\n').sort().join('\n') : same;
  };
  return { code, stdout: plain(stdout), stderr: plain(stderr) };
}

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  url = `http://127.0.0.1:${port}`;
  laptop = mkdtempSync(join(tmpdir(), 'laptop-'));
  const venv = await saltVenv(newestOf('3008'));
  master = await BrineMaster.start({
    timeout: 15,
    nodegroups: { webs: `L@${STOCK}`, all: 'web* or db*' },
    sharedsecret: PASSWORD,
    external_auth: {
      sharedsecret: {
        full: ['.*', '@runner', '@wheel', '@jobs'],
        narrow: [{ 'web*': ['test.*'] }],
      },
    },
    netapi_enable_clients: ['local', 'runner', 'wheel'],
    rest_cherrypy: { port, host: '127.0.0.1', disable_ssl: true },
  });
  const home = await master.sandbox.minion(STOCK, master.home.retPort);
  master.sandbox.startMinion(venv, home);
  await master.startMinion(OWN);
  await master.acceptKeys(IDS);
  await master.waitForMinions(IDS);
  const files = join(master.home.configDir, 'files');
  mkdirSync(files, { recursive: true });
  writeFileSync(join(files, 'bad.sls'), 'broken:\n  test.fail_without_changes: []\n');
  writeFileSync(join(files, 'good.sls'), 'fine:\n  test.succeed_without_changes: []\n');
  const keys = join(master.home.pkiDir, 'minions');
  writeFileSync(join(keys, DEAD), readFileSync(join(keys, STOCK)));
  const logged = await logIn('full');
  expect(logged).toMatchObject({ code: 0 });
  expect(logged.stdout).toMatch(/^Logged in at \S+ as full, until \d{4}-\d\d-\d\dT[\d:.]+Z\.\n$/);
  await until('the key of the silent minion is known', async () => {
    const { stdout } = await elsewhere(['--api', 'key', '-l', 'acc', '--out', 'json']);
    return stdout.includes(DEAD);
  });
  const { stdout } = await master.brine('salt', ['-L', IDS.join(','), 'test.ping', '--show-jid']);
  jid = /\d{20}/.exec(stdout)?.[0] ?? '';
});
afterAll(async () => {
  await master?.close();
});

/** A command, and whether minions return in any order. */
type Case = readonly [command: string, args: readonly string[], isUnordered?: boolean];
const BOTH = IDS.join(',');

const SALT: readonly Case[] = [
  ['salt', [STOCK, 'test.ping']],
  ['salt', [OWN, 'test.ping']],
  ['salt', ['-L', BOTH, 'test.ping'], true],
  ['salt', ['-G', 'kernel:Linux', 'test.ping', '-t', '3'], true],
  ['salt', ['-C', `L@${BOTH} and not db*`, 'test.ping']],
  ['salt', ['-E', 'web[0-9]', 'test.ping']],
  ['salt', ['-N', 'webs', 'test.ping']],
  ['salt', ['-C', 'N@all and web*', 'test.ping']],
  ['salt', ['-N', 'none', 'test.ping']],
  ['salt', ['-L', BOTH, 'test.ping', '--out', 'json', '--static']],
  ['salt', [STOCK, 'test.arg', '1.0', '2', 'null', 'a=[1, {b: c}]', '--out', 'yaml']],
  ['salt', [STOCK, 'test.echo', 'Grüße, 世界', '--out', 'raw']],
  ['salt', [STOCK, 'test.ping', '--async']],
  ['salt', ['-L', BOTH, 'test.ping', '--batch', '1'], true],
  ['salt', ['-L', BOTH, 'test.retcode', '3', '--batch', '1', '--failhard'], true],
  ['salt', ['-L', BOTH, 'test.ping', '--batch', '50%', '--static', '--out', 'json']],
  ['salt', ['nosuch', 'test.ping']],
  ['salt', ['-L', `nosuch,${STOCK}`, 'test.ping']],
  ['salt', ['-L', `${DEAD},${STOCK}`, 'test.ping', '-t', '2'], true],
  ['salt', ['-L', `${DEAD},${STOCK}`, 'test.ping', '-t', '2', '--out', 'json', '--static']],
  ['salt', [STOCK, 'state.apply', 'bad']],
  ['salt', [STOCK, 'state.apply', 'good', '--state-output', 'terse']],
  ['salt', [OWN, 'test.ping', '-v']],
  ['salt', [OWN, 'test.ping', '--show-jid']],
  ['salt', [OWN, 'test.ping', '--summary']],
  ['salt', [OWN, 'no.such']],
  ['salt', [OWN, 'test.ping', '--preview-target']],
  ['salt', ['-L', BOTH, 'test.ping', '--subset', '1', '--out', 'quiet']],
  ['salt', [OWN]],
  ['salt', ['--no-such-option', OWN, 'test.ping']],
  ['salt', [OWN, 'test.ping', '--batch', 'x']],
];

const OTHERS: readonly Case[] = [
  ['run', ['test.arg', '1', 'a=b']],
  ['run', ['test.arg', '1', '--out', 'json']],
  ['run', ['jobs.list_job', '@JID@']],
  ['run', ['jobs.lookup_jid', '@JID@']],
  ['run', ['jobs.lookup_jid', '20200101000000000000']],
  ['run', ['jobs.exit_success', '@JID@']],
  ['run', ['jobs.why', '@JID@']],
  ['run', ['manage.up', 'timeout=2'], true],
  ['run', ['manage.status', 'timeout=2'], true],
  ['run', ['no.such']],
  ['run', ['jobs.list_job']],
  ['run', ['test.arg', 'x', '--quiet']],
  ['key', ['-L']],
  ['key', ['-l', 'acc', '--out', 'json']],
  ['key', ['-p', STOCK]],
  ['key', ['-a', 'nosuch']],
  ['key', ['-d', 'nosuch', '-y']],
  ['key', ['-l', 'wrong']],
  ['events', ['--no-follow', '--jid', '@JID@', '--json']],
  ['events', ['--from', 'oldest', '--jid', '@JID@', '--count', '1']],
  ['events', ['word']],
  ['trace', ['@JID@']],
  ['trace', ['20200101000000000000']],
  ['trace', ['word']],
  ['top', ['--every', '0']],
];

const args = (given: readonly string[]): string[] =>
  given.map((word) => word.replaceAll('@JID@', jid));

describe('brine --api prints what the host prints, and ends with the same code', () => {
  const cases = [...SALT, ...OTHERS].map(([command, given, isUnordered = false]) => ({
    command,
    given,
    isUnordered,
  }));
  it.each(cases)('brine $command $given', async ({ command, given, isUnordered }) => {
    const there = await master.brine(command, args(given));
    const here = await elsewhere(['--api', command, ...args(given)]);
    expect(comparable(here, isUnordered)).toEqual(comparable(there, isUnordered));
  });

  it('a fingerprint is that of the wheel key.finger', async () => {
    const login = ['--auth', 'sharedsecret', '--username', 'full', '--password', PASSWORD];
    const there = await master.brine('key', ['-f', STOCK, ...login]);
    const here = await elsewhere(['--api', 'key', '-f', STOCK]);
    expect(here).toMatchObject({ code: 0, stdout: there.stdout, stderr: there.stderr });
    expect(here.stdout).toMatch(/^Accepted Keys:\nweb1: {2}([0-9a-f]{2}:){31}[0-9a-f]{2}\n$/);
  });

  it('a key is accepted and deleted as on the host', async () => {
    const pending = join(master.home.pkiDir, 'minions_pre', 'new1');
    const printed: Printed[][] = [];
    for (const by of ['host', 'api']) {
      writeFileSync(pending, readFileSync(join(master.home.pkiDir, 'minions', STOCK)));
      const key = (...words: string[]): Promise<Printed> =>
        by === 'host' ? master.brine('key', words) : elsewhere(['--api', 'key', ...words]);
      await until('the key waits', async () => {
        const { stdout } = await elsewhere(['--api', 'key', '-l', 'pre', '--out', 'json']);
        return stdout.includes('new1');
      });
      const accepted = await key('-a', 'new1', '-y');
      await until('the key is accepted', async () => {
        const { stdout } = await elsewhere(['--api', 'key', '-l', 'acc', '--out', 'json']);
        return stdout.includes('new1');
      });
      printed.push([accepted, await key('-d', 'new1', '-y')]);
      await until('the key is gone', async () => {
        const { stdout } = await elsewhere(['--api', 'key', '-L', '--out', 'json']);
        const names = await readdir(join(master.home.pkiDir, 'minions'));
        return !stdout.includes('new1') && !names.includes('new1');
      });
    }
    const [there = [], here = []] = printed;
    expect(here.map((one) => comparable(one, false))).toEqual(
      there.map((one) => comparable(one, false)),
    );
    expect(here[0]).toMatchObject({ code: 0, stderr: '' });
  });

  it('status and top show the services of all hosts', async () => {
    const services = (text: string): string[] =>
      [...text.matchAll(/\b(?:worker-pool|runner-pool|http-api|event-bus|publisher)\b/g)]
        .map(([name]) => name)
        .sort();
    for (const [command, there, here] of [
      ['status', ['--all'], []],
      ['top', ['--once'], ['--once']],
    ] as const) {
      const host = await master.brine(command, there);
      const api = await elsewhere(['--api', command, ...here]);
      expect({ code: api.code, stderr: api.stderr }).toEqual({
        code: host.code,
        stderr: host.stderr,
      });
      expect(services(api.stdout)).toEqual(services(host.stdout));
      expect(services(api.stdout)).toContain('http-api');
    }
  });

  it('BRINE_API, an address and the link names lead there too', async () => {
    const expected = { code: 0, stdout: `${OWN}:\n    True\n`, stderr: '' };
    const ping = ['salt', OWN, 'test.ping'];
    expect(await elsewhere(ping, { env: { BRINE_API: url } })).toEqual(expected);
    expect(await elsewhere([`--api=${url}`, ...ping])).toEqual(expected);
    expect(await elsewhere(['--api', `${url}/`, ...ping])).toEqual(expected);
  });

  it("pepper's variables and file log in for a command", async () => {
    const home = join(laptop, 'pepper');
    mkdirSync(home);
    const env = {
      HOME: home,
      SALTAPI_URL: url,
      SALTAPI_USER: 'full',
      SALTAPI_PASS: PASSWORD,
      SALTAPI_EAUTH: 'sharedsecret',
    };
    const words = ['--api', 'salt', OWN, 'test.ping'];
    const pong = { code: 0, stdout: `${OWN}:\n    True\n` };
    expect(await elsewhere(words, { env })).toMatchObject({ ...pong, stderr: '' });
    const lines = Object.entries(env).filter(([name]) => name !== 'HOME');
    const file = join(home, '.pepperrc');
    writeFileSync(file, `[main]\n${lines.map(([name, value]) => `${name}=${value}`).join('\n')}\n`);
    await chmod(file, 0o644);
    const open = await elsewhere(words, { env: { HOME: home } });
    expect(open).toMatchObject(pong);
    expect(open.stderr).toContain('other users can read');
    await chmod(file, 0o600);
    expect(await elsewhere(words, { env: { HOME: home } })).toMatchObject({ ...pong, stderr: '' });
  });
});

describe('a narrow user', () => {
  let home = '';
  const narrow = (...words: string[]): Promise<Printed> =>
    elsewhere(['--api', ...words], { env: { HOME: home } });
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'narrow-'));
    expect(await logIn('narrow', home)).toMatchObject({ code: 0 });
  });

  /** The host's command with a log-in, which has the same rights. */
  const AUTH = ['-a', 'sharedsecret', '--username', 'narrow', '--password', PASSWORD];

  it.each([
    ['salt', [STOCK, 'test.ping']],
    ['salt', [STOCK, 'test.ping', '--batch', '1']],
    ['salt', [OWN, 'test.ping']],
    ['salt', [STOCK, 'cmd.run', 'id']],
    ['salt', ['*', 'test.ping']],
    ['salt', [STOCK, 'cmd.run', 'id', '--async']],
    ['salt', [OWN, 'test.ping', '--batch', '1']],
    ['run', ['test.arg', 'x']],
    ['run', ['jobs.list_jobs']],
  ])('brine %s %j: as with its log-in on the host', async (command, given) => {
    const there = await master.brine(command, [...AUTH, ...given]);
    const here = await narrow(command, ...given);
    const same = (one: Printed): Printed => {
      const { stdout, stderr, code } = comparable(one, false);
      const kind = (text: string): string => text.replace(/"(?:eauth|token)"/g, '"<KIND>"');
      return { code, stdout: kind(stdout), stderr: kind(stderr) };
    };
    expect(same(here)).toEqual(same(there));
  });

  it('reads no events, no traces, no services and no keys', async () => {
    const refused = /Authentication failure of type "token" occurred for user narrow/;
    const events = await narrow('events', '--no-follow');
    expect([events.code, events.stdout]).toEqual([1, '']);
    expect(events.stderr).toMatch(refused);
    const trace = await narrow('trace', jid);
    expect([trace.code, trace.stdout]).toEqual([1, '']);
    expect(trace.stderr).toContain('no right to do this');
    const status = await narrow('status');
    expect([status.code, status.stdout]).toEqual([1, '']);
    expect(status.stderr).toMatch(refused);
    const keys = await narrow('key', '-L');
    expect(keys.code).toBe(2);
    expect(keys.stdout).toMatch(refused);
  });

  it('is named a session that has ended', async () => {
    const file = join(home, '.config', 'brine', 'sessions.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const before = readFileSync(file);
    expect(await elsewhere(['logout'], { env: { HOME: home } })).toEqual({
      code: 0,
      stdout: `Logged out at ${url}.\n`,
      stderr: '',
    });
    expect(await narrow('salt', STOCK, 'test.ping')).toMatchObject({ code: 64, stdout: '' });
    writeFileSync(file, before);
    const ended = await narrow('salt', STOCK, 'test.ping');
    const text = `brine: The session at ${url} has ended: log in with \`brine login ${url}\`.\n`;
    expect(ended).toEqual({ code: 2, stdout: '', stderr: text });
  });
});
