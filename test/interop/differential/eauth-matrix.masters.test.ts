import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PrivateKey } from '@brine/crypt';
import {
  BrineMaster,
  newestOf,
  type SaltHome,
  type SaltPorts,
  SaltSandbox,
  type SaltVenv,
  saltVenv,
} from '@brine/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ORACLE = join(import.meta.dirname, 'eauth-matrix.py');
const MINIONS = ['web1', 'web2', 'db1'];
const ORACLE_TIMEOUT_MS = 240_000;

const PASSWORDS = { anne: 'a', bert: 'b', cleo: 'c', dora: 'd', emil: 'e', fritz: 'f', gast: 'g' };

/** Rights of both masters. `games` and `daemon` are users of every Debian. */
const rights = (users: string) => ({
  external_auth: {
    file: {
      '^filename': users,
      anne: ['.*', '@runner', '@wheel'],
      bert: ['test.*', { 'web*': ['state.*', 'cmd.run'] }],
      cleo: [{ 'L@web1,db1': ['test.ping'] }, { 'web2 and not db*': ['test.echo'] }, '@jobs'],
      dora: [
        { '*': [{ 'test.arg': { args: ['a.*', null], kwargs: { k: '1' } } }] },
        { '@jobs': ['list_jobs'] },
        { '@wheel': ['key.list_all'] },
      ],
      emil: [],
      'ops%': ['.*'],
      '*': ['sys.doc'],
    },
  },
  publisher_acl: { games: ['test.ping', { 'web*': ['test.*'] }], daemon: [] },
  publisher_acl_blacklist: { users: ['badman'], modules: ['cmd.shell'] },
});

interface Case {
  readonly ask: 'publish' | 'runner' | 'wheel';
  readonly user: string;
  readonly password?: string;
  readonly token?: boolean;
  readonly key_of?: string;
  readonly fun: string | readonly string[];
  readonly tgt?: string;
  readonly tgt_type?: string;
  readonly arg?: readonly unknown[];
  readonly kwarg?: Readonly<Record<string, unknown>>;
  /** Why Brine refuses what Salt allows. */
  readonly closed?: string;
}

const by = (user: keyof typeof PASSWORDS, fun: Case['fun'], tgt: string, more = {}): Case => ({
  ask: 'publish',
  user,
  password: PASSWORDS[user],
  fun,
  tgt,
  ...more,
});
const call = (ask: 'runner' | 'wheel', user: keyof typeof PASSWORDS, fun: string, more = {}) =>
  ({ ask, user, password: PASSWORDS[user], fun, ...more }) as const;
const local = (user: string, key_of: string, fun: string, tgt: string, more = {}): Case => ({
  ask: 'publish',
  user,
  key_of,
  fun,
  tgt,
  ...more,
});
const token = { token: true };
const list = { tgt_type: 'list' };
const compound = { tgt_type: 'compound' };

const CASES: readonly Case[] = [
  by('anne', 'cmd.run', '*', { arg: ['id'] }),
  by('anne', 'cmd.run', '*', { arg: ['id'], ...token }),
  by('anne', 'cmd.shell', '*', { arg: ['id'] }),
  by('anne', 'test.ping', 'nobody*'),
  { ...by('anne', 'test.ping', '*'), password: 'wrong' },
  { ...by('anne', 'test.ping', '*', token), password: 'wrong' },
  { ...by('anne', 'test.ping', '*'), user: 'stranger' },
  by('bert', 'test.ping', '*'),
  by('bert', 'test.ping', '*', token),
  by('bert', 'testing.ping', '*'),
  by('bert', 'state.apply', 'web*'),
  by('bert', 'state.apply', 'web*', token),
  by('bert', 'state.apply', '*'),
  by('bert', 'state.apply', 'db1'),
  by('bert', 'state.apply', 'web1,web2', list),
  by('bert', 'state.apply', 'web1,db1', list),
  by('bert', 'state.apply', 'E@web.', compound),
  by('bert', 'state.apply', 'E@web. or db1', compound),
  by('bert', 'state.apply', 'nobody*'),
  by('bert', ['test.ping', 'test.echo'], '*', { arg: [[], ['x']] }),
  by('bert', ['test.ping', 'cmd.run'], 'db1', {
    arg: [[], ['id']],
    closed: 'each of several functions must be allowed',
  }),
  by('cleo', 'test.ping', 'web1'),
  by('cleo', 'test.ping', 'db1,web1', list),
  by('cleo', 'test.ping', 'web2'),
  by('cleo', 'test.echo', 'web2', { arg: ['x'] }),
  by('cleo', 'test.echo', 'web1', { arg: ['x'] }),
  by('cleo', 'saltutil.find_job', '*', { arg: ['20261122000000000000'] }),
  by('dora', 'test.arg', '*', { arg: ['abc', 'x'], kwarg: { k: 1 } }),
  by('dora', 'test.arg', 'db1', { arg: ['xbc', 'x'], kwarg: { k: 1 } }),
  by('dora', 'test.arg', 'db1', { arg: ['abc'], kwarg: { k: 1 } }),
  by('dora', 'test.arg', 'db1', { arg: ['abc', 'x'], kwarg: { k: 2 } }),
  by('dora', 'test.arg', 'db1', { arg: ['abc', 'x'] }),
  by('emil', 'test.ping', 'web1'),
  by('emil', 'sys.doc', 'web1'),
  by('fritz', 'sys.doc', 'web1'),
  by('fritz', 'test.ping', 'web1'),
  by('gast', 'sys.doc', '*', token),
  local('games', 'games', 'test.ping', '*'),
  local('games', 'games', 'test.arg', 'web*'),
  local('games', 'games', 'test.arg', '*'),
  local('games', 'games', 'cmd.run', 'web1'),
  local('daemon', 'daemon', 'test.ping', 'web1'),
  local('root', 'root', 'cmd.run', '*'),
  local('root', 'root', 'cmd.shell', '*'),
  local('badman', 'root', 'test.ping', '*'),
  local('sudo_badman', 'root', 'test.ping', '*', {
    closed: 'the blacklist also counts for users that came by sudo',
  }),
  local('root', 'games', 'cmd.run', '*', { closed: 'nobody becomes root by a key of few rights' }),
  local('sudo_root', 'games', 'cmd.run', '*', {
    closed: 'nobody becomes root by a key of few rights',
  }),
  call('runner', 'anne', 'test.arg'),
  call('runner', 'anne', 'test.arg', token),
  call('runner', 'bert', 'jobs.list_jobs'),
  call('runner', 'cleo', 'jobs.list_jobs'),
  call('runner', 'cleo', 'manage.up'),
  call('runner', 'dora', 'jobs.list_jobs'),
  call('runner', 'dora', 'jobs.last_run'),
  {
    ask: 'runner',
    user: 'games',
    key_of: 'games',
    fun: 'test.arg',
    closed: 'publisher_acl gives no runners by itself',
  },
  call('wheel', 'anne', 'key.glob_match', token),
  call('wheel', 'anne', 'key.nonsense'),
  call('wheel', 'bert', 'key.list_all'),
  call('wheel', 'dora', 'key.key_str'),
];

/** Accepts the keys of all minions; none of them has to be there. */
async function acceptKeys(home: SaltHome): Promise<void> {
  await mkdir(join(home.pkiDir, 'minions'), { recursive: true });
  for (const id of MINIONS) {
    const key = await PrivateKey.generate(2048);
    await writeFile(join(home.pkiDir, 'minions', id), key.publicKey.pem);
  }
}

/** What else Salt's clients print stands on lines of its own. */
function answersIn(stdout: string): string[] {
  const lines = stdout.split('\n').filter((line) => line.startsWith('ANSWER '));
  return lines.map((line) => line.slice('ANSWER '.length));
}

describe('who may do what, on Brine and on salt-master 3008', () => {
  let brine: BrineMaster;
  let sandbox: SaltSandbox;
  let venv: SaltVenv;
  let stock: SaltHome & SaltPorts;

  beforeAll(async () => {
    venv = await saltVenv(newestOf('3008'));
    sandbox = await SaltSandbox.create();
    const users = Object.entries(PASSWORDS).map(([user, password]) => `${user}:${password}\n`);
    await writeFile(join(sandbox.dir, 'users'), users.join(''));
    const config = rights(join(sandbox.dir, 'users'));
    stock = await sandbox.master({ ...config, auto_accept: false });
    await acceptKeys(stock);
    await sandbox.startMaster(venv, stock);
    brine = await BrineMaster.start({ ...config, brine: { workers: 1 } }, { onHome: acceptKeys });
  }, 300_000);
  afterAll(async () => {
    await brine?.close();
    await sandbox?.close();
  });

  /** One process asks all questions: starting Salt costs seconds. */
  function ask(home: SaltHome): Promise<string[]> {
    return new Promise((resolve, reject) => {
      const args = [ORACLE, join(home.configDir, 'master')];
      const options = { env: sandbox.env(), timeout: ORACLE_TIMEOUT_MS };
      const child = execFile(venv.python, args, options, (error, stdout, stderr) => {
        if (error === null) resolve(answersIn(stdout));
        else reject(new Error(stderr, { cause: error }));
      });
      child.stdin?.end(CASES.map((one) => JSON.stringify(one)).join('\n'));
    });
  }

  it(`agree in ${CASES.length} cases`, { timeout: 600_000 }, async () => {
    const [ours, theirs] = await Promise.all([ask(brine.home), ask(stock)]);
    expect(ours).toHaveLength(CASES.length);
    const differences = CASES.flatMap((one, at) => {
      const same = ours[at] === theirs[at];
      const refused = /Authentication error|Authentication failure|Authorization error/.test(
        ours[at] ?? '',
      );
      if (one.closed === undefined ? same : !same && refused) return [];
      return [{ ...one, ours: ours[at], theirs: theirs[at] }];
    });
    expect(differences).toEqual([]);
    // Both kinds of answer were seen.
    const refusals = theirs.filter((answer) => /Error/.test(answer)).length;
    expect(refusals).toBeGreaterThan(15);
    expect(theirs.length - refusals).toBeGreaterThan(15);
  });

  it('the stock salt logs in with -a and -T', { timeout: 120_000 }, async () => {
    const salt = async (...args: readonly string[]): Promise<string> => {
      const all = ['--async', '--username', 'bert', '--password', 'b', '-a', 'file', ...args];
      const { stdout, stderr } = await sandbox.run(venv, 'salt', brine.home, all);
      return `${stdout}${stderr}`;
    };
    expect(await salt('web1', 'state.apply')).toMatch(/Executed command with job ID: \d{20}/);
    expect(await salt('-T', 'web1', 'state.apply')).toMatch(/Executed command with job ID: \d{20}/);
  });

  it('brine run logs in with -a and -T, and runs in the master', { timeout: 120_000 }, async () => {
    const run = (user: keyof typeof PASSWORDS, ...args: readonly string[]) =>
      brine.brine('run', [
        '-a',
        'file',
        '--username',
        user,
        '--password',
        PASSWORDS[user],
        ...args,
      ]);
    const shown = 'args:\n    - 1\nkwargs:\n    ----------\n';
    expect(await run('anne', 'test.arg', '1')).toMatchObject({ code: 0, stdout: shown });
    expect(await run('bert', 'test.arg', '1')).toMatchObject({
      code: 2,
      stdout: 'Authentication failure of type "eauth" occurred for user bert.\n',
    });
    expect(await run('anne', '-T', 'test.arg', '1')).toMatchObject({ code: 0, stdout: shown });
    // From here on the key of root counts, as in Salt: a token is kept, and the key is readable.
    const { stderr } = await brine.brine('run', ['--async', 'jobs.list_jobs']);
    expect(stderr).toMatch(/This execution is running under tag salt\/run\/\d{20}\n$/);
  });
});
