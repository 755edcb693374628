import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { BrineMaster, newestOf, type SaltHome, saltVenv } from '@brine/testing';
import { BRINE } from '@brine/testing/checkouts';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const TERMINAL = join(import.meta.dirname, 'on-a-terminal.py');
const idOf = (version: string): string => `stock-${version}`;
const RELEASES = [newestOf('3006'), newestOf('3008')];
const STOCK = RELEASES.map(idOf);
const ALL = [...STOCK, 'own'].sort();

describe("Brine's commands beside stock minions", () => {
  let master: BrineMaster;
  let own: SaltHome;
  const from = (...parts: string[]): string => join(master.sandbox.dir, 'from', ...parts);
  const to = (...parts: string[]): string => join(master.sandbox.dir, 'to', ...parts);

  beforeAll(async () => {
    const venvs = await Promise.all(RELEASES.map((version) => saltVenv(version)));
    master = await BrineMaster.start({
      brine: { workers: 2 },
      timeout: 15,
      salt_cp_chunk_size: 40_000,
      peer: { '.*': ['test.*'] },
      peer_run: { '.*': ['test.*'] },
      sharedsecret: 'lab-secret',
      external_auth: { sharedsecret: { api: ['@wheel'], pinger: [] } },
    });
    for (const [index, version] of RELEASES.entries()) {
      const venv = venvs[index];
      if (venv === undefined) throw new Error(`no Salt ${version}`);
      const home = await master.sandbox.minion(idOf(version), master.home.retPort);
      master.sandbox.startMinion(venv, home);
    }
    await master.startMinion('own');
    await master.acceptKeys(ALL);
    await master.waitForMinions(ALL);
    own = { ...master.home, configDir: join(master.sandbox.dir, 'minion-own') };
    mkdirSync(from('tree', 'sub', 'empty'), { recursive: true });
    mkdirSync(to());
    writeFileSync(from('text'), 'Grüße, 世界\r\nzwei\n');
    writeFileSync(from('tree', 'large'), randomBytes(130_000));
    writeFileSync(from('tree', 'sub', 'nothing'), '');
    writeFileSync(from('tree', 'sub', 'run'), '#!/bin/sh\nexit 3\n');
    chmodSync(from('tree', 'sub', 'run'), 0o755);
    symlinkSync('../large', from('tree', 'sub', 'link'));
    mkdirSync(join(master.home.configDir, 'files'), { recursive: true });
    writeFileSync(join(master.home.configDir, 'files', 'plain.txt'), 'plain file\nsecond line\n');
  });
  afterAll(async () => {
    await master?.close();
  });

  const json = async (command: string, args: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await master.brine(command, [...args, '--out', 'json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as unknown;
  };

  it.each(STOCK)('salt-cp copies a text to %s in one job', async (id) => {
    const dest = to(`${id}.txt`);
    expect(await json('salt-cp', [id, from('text'), dest])).toEqual({ [id]: { [dest]: true } });
    expect(readFileSync(dest, 'utf8')).toBe('Grüße, 世界\r\nzwei\n');
  });

  it.each(STOCK)('salt-cp -C copies a tree to %s, piece by piece', async (id) => {
    const dest = to(id);
    const shown = await json('salt-cp', ['-C', id, from('tree'), dest]);
    const names = ['large', 'sub/link', 'sub/nothing', 'sub/run', 'sub/empty'];
    const paths = names.map((name) => join(dest, 'tree', name));
    expect(shown).toEqual({ [id]: Object.fromEntries(paths.map((path) => [path, true])) });
    for (const name of ['large', 'sub/link', 'sub/nothing', 'sub/run']) {
      const copied = join(dest, 'tree', name);
      expect(readFileSync(copied).equals(readFileSync(from('tree', name))), name).toBe(true);
    }
    expect(statSync(join(dest, 'tree/sub/run')).mode & 0o777).toBe(0o755);
    expect(statSync(join(dest, 'tree/sub/empty')).isDirectory()).toBe(true);
  });

  it('salt-cp -C -n sends the pieces as they are, to all minions at once', async () => {
    const dest = to('shared');
    const args = ['-C', '-n', '-L', STOCK.join(','), from('tree', 'sub', 'run'), dest];
    expect(await json('salt-cp', args)).toEqual(
      Object.fromEntries(STOCK.map((id) => [id, { [dest]: true }])),
    );
    expect(readFileSync(dest, 'utf8')).toBe('#!/bin/sh\nexit 3\n');
  });

  it('salt-cp shows the error of a minion, exits with 0 as Salt does, and 42 without a file', async () => {
    const [id = ''] = STOCK;
    const dest = '/proc/no/such/place';
    const failed = await master.brine('salt-cp', ['-C', id, from('text'), dest]);
    expect(failed.code).toBe(0);
    expect(failed.stdout).toMatch(/No such file or directory|Errno/);
    const missing = await master.brine('salt-cp', ['-C', id, from('none'), dest]);
    expect([missing.code, missing.stderr]).toEqual([42, `${from('none')} does not exist\n`]);
    const nobody = await master.brine('salt-cp', ['nobody*', from('text'), dest]);
    const words = 'No minions matched the target. No command was sent, no jid was assigned.\n';
    expect([nobody.code, nobody.stdout]).toEqual([0, words]);
  });

  const call = (...args: string[]) =>
    master.run([BRINE, 'salt-call', '-c', own.configDir, ...args]);

  it.each([
    [['test.ping'], 0, 'local:\n    True\n'],
    [['cp.get_file_str', 'salt://plain.txt'], 0, 'local:\n    plain file\n    second line\n'],
    [
      ['publish.publish', 'own', 'test.ping'],
      0,
      'local:\n    ----------\n    own:\n        True\n',
    ],
    [['publish.publish', 'own', 'cmd.run', 'id'], 0, 'local:\n    ----------\n'],
    [['event.send', 'lab/call', '{a: 1}'], 0, 'local:\n    True\n'],
    [['test.retcode', '5', '--retcode-passthrough'], 5, 'local:\n    True\n'],
    [['test.retcode', '5'], 1, 'local:\n    True\n'],
    [['--local', 'pillar.items'], 0, 'local:\n    ----------\n'],
    [['no.such'], 255, ''],
    [['config.get', 'id'], 0, 'local:\n    own\n'],
  ])('salt-call %j exits with %i', async (args, exit, text) => {
    const { code, stdout } = await call(...args);
    expect([code, stdout]).toEqual([exit, text]);
  });

  it('salt-call logs a command that failed as Salt does', async () => {
    const { code, stdout, stderr } = await call('cmd.run', 'echo x; exit 3');
    const failed = "[ERROR   ] Command 'echo' failed with return code: 3\n";
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: 'local:\n    x\n',
      stderr:
        `${failed}[ERROR   ] stdout: x\n[ERROR   ] retcode: 3\n` +
        `${failed}[ERROR   ] output: x\n`,
    });
  });

  it('salt-call tells the master, whose job cache then knows the return', async () => {
    expect((await call('test.echo', 'untold', '--no-return-event')).code).toBe(0);
    // What is told comes later, and on the same way.
    expect((await call('test.echo', 'from-call')).code).toBe(0);
    const found = async (): Promise<string> =>
      (await master.brine('run', ['jobs.list_jobs', 'search_function=test.echo'])).stdout;
    await until('the job of salt-call is found', async () => (await found()).includes('from-call'));
    expect(await found()).not.toContain('untold');
  });

  it('salt --watch shows what a job has returned and what is still to come', async () => {
    const started = await master.brine('salt', ['--async', '*', 'test.sleep', '4']);
    const jid = /(\d{20})/.exec(started.stdout)?.[1] ?? '';
    const { code, stdout } = await master.brine('salt', ['--watch', jid]);
    expect(code).toBe(0);
    for (const id of ALL) expect(stdout).toContain(`${id}:\n    True\n`);
    const unknown = await master.brine('salt', ['--watch', '20200101000000000000']);
    expect(unknown.code).toBe(2);
  });

  it('--static exits with 1 if a minion failed', async () => {
    const { code, stdout, stderr } = await master.brine('salt', [
      ...['--static', 'own', 'test.retcode', '3'],
    ]);
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: 'own:\n    True\n',
      stderr: 'ERROR: Minions returned with non-zero exit code\n',
    });
  });

  const login = (user: string, password = 'lab-secret'): string[] => [
    ...['--auth', 'sharedsecret', '--username', user, '--password', password],
  ];

  it('salt-key --auth lists and accepts keys with the rights of a login', async () => {
    const { stdout } = await master.brine('salt-key', ['-L', ...login('api')]);
    expect(stdout).toContain(`Accepted Keys:\n${ALL.join('\n')}\nDenied Keys:\n`);
    await master.startMinion('late');
    const listed = async (what: string): Promise<string> =>
      (await master.brine('salt-key', ['-l', what, ...login('api')])).stdout;
    await until('the key of late waits', async () => (await listed('un')).includes('late'));
    const accepted = await master.brine('salt-key', ['-a', 'la*', '-y', ...login('api')]);
    expect([accepted.code, accepted.stdout]).toEqual([
      0,
      'The following keys are going to be accepted:\nUnaccepted Keys:\nlate\n' +
        'Key for minion late accepted.\n',
    ]);
    expect(await listed('acc')).toContain('late\n');
    const finger = await master.brine('salt-key', ['-f', 'late', ...login('api')]);
    expect(finger.stdout).toMatch(/^Accepted Keys:\nlate: {2}(?:[0-9a-f]{2}:){31}[0-9a-f]{2}\n$/);
    const deleted = await master.brine('salt-key', ['-d', 'late', '-y', ...login('api')]);
    expect(deleted.stdout).toContain('Key for minion late deleted.\n');
  });

  it('a refused login exits with 2, at salt and at salt-key', async () => {
    const key = await master.brine('salt-key', ['-L', ...login('api', 'wrong')]);
    expect([key.code, key.stdout.split('\n')[0]]).toEqual([
      2,
      'Authentication failure of type "eauth" occurred for user api.',
    ]);
    const right = await master.brine('salt-key', ['-D', '-y', ...login('pinger')]);
    expect(right.code).toBe(2);
    const salt = await master.brine('salt', ['*', 'test.ping', ...login('api', 'wrong')]);
    expect([salt.code, salt.stdout]).toEqual([2, 'Authentication error occurred.\n']);
  });

  /** What a terminal got, and the exit code. */
  const onTerminal = async (
    pressAt: string,
    args: readonly string[],
  ): Promise<{ readonly code: number; readonly shown: string }> => {
    const { python } = await saltVenv(newestOf('3008'));
    const words = [TERMINAL, pressAt, process.execPath, BRINE, ...args];
    const env = { ...process.env, TERM: 'xterm', HOME: join(master.sandbox.dir, 'home') };
    return new Promise((resolve) => {
      execFile(python, words, { env, timeout: 60_000 }, (error, stdout) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : 0, shown: stdout });
      });
    });
  };

  it('a terminal shows colours, the progress line, and nothing of it at the end', async () => {
    const args = ['salt', '-c', master.home.configDir, 'own', 'test.sleep', '3'];
    const { code, shown } = await onTerminal('', args);
    expect(code).toBe(0);
    expect(shown).toContain('0 of 1 returned, 1 s');
    const after = shown.slice(shown.lastIndexOf('returned'));
    expect(after).toMatch(/^returned, \d s\r\x1b\[K\x1b\[0;36mown\x1b\[0;0m:\r\n/);
    expect(after.endsWith('\x1b[0;1;33mTrue\x1b[0;0m\r\n')).toBe(true);
  });

  it('Ctrl-C on a terminal takes the progress line away and says how to look the job up', async () => {
    const args = ['salt', '-c', master.home.configDir, 'own', 'test.sleep', '60'];
    const { code, shown } = await onTerminal('0 of 1 returned', args);
    expect(code).toBe(0);
    expect(shown).toContain('Exiting gracefully on Ctrl-c');
    expect(shown).toMatch(/salt-run jobs\.lookup_jid \d{20}/);
    const last = shown.lastIndexOf(' returned, ');
    expect(shown.slice(last)).toContain('\r\x1b[K');
    await master.brine('salt', [
      'own',
      'saltutil.kill_job',
      /jid is: (\d+)/.exec(shown)?.[1] ?? '',
    ]);
  });

  it('a pipe gets no progress line', async () => {
    const { stdout, stderr } = await master.brine('salt', ['own', 'test.sleep', '2']);
    expect([stdout, stderr]).toEqual(['own:\n    True\n', '']);
  });

  it('completion offers the functions that minions have', async () => {
    const { code, stdout } = await master.brine('completion', ['refresh']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Completion knows \d{3,} functions\.\n$/);
    const line = `salt -c ${master.home.configDir} own state.sho`;
    const words = await master.run([BRINE, 'completion', 'words', `--line=${line}`]);
    expect(words.stdout.split('\n')).toContain('state.show_top');
    const ids = await master.run([
      ...[BRINE, 'completion', 'words'],
      `--line=salt -c ${master.home.configDir} stock`,
    ]);
    expect(ids.stdout.trim().split('\n')).toEqual([...STOCK].sort());
    expect(existsSync(join(master.sandbox.dir, 'home'))).toBe(true);
  });
});
