import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SaltHome, SaltPorts, SaltVenv } from '@brine/testing';
import { SaltProcess, SaltSandbox, saltVenv } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const READY_MS = 60_000;

let venv: SaltVenv;
let sandbox: SaltSandbox;
let master: SaltHome & SaltPorts;
let stock: SaltProcess;
let ours: SaltProcess;
let minion: SaltHome;

beforeAll(async () => {
  venv = await saltVenv('3008.2');
  sandbox = await SaltSandbox.create();
  master = await sandbox.master({ timeout: 5, gather_job_timeout: 5 });
  await mkdir(join(master.configDir, 'pillar'), { recursive: true });
  const pillar = join(master.configDir, 'pillar');
  await writeFile(join(pillar, 'top.sls'), "base:\n  '*':\n    - site\n");
  await writeFile(join(pillar, 'site.sls'), 'site:\n  name: Süd\n');
  stock = await sandbox.startMaster(venv, master);
  minion = await sandbox.minion('ours', master.retPort, { grains: { role: 'proof' } });
  ours = startOurs(minion);
  await ours.waitForLog(/signed in/, READY_MS);
  await waitForPing();
});

afterAll(async () => {
  await ours?.stop();
  await sandbox?.close();
});

function startOurs(home: SaltHome): SaltProcess {
  const main = join(ROOT, 'apps/minion/src/main.ts');
  return SaltProcess.start({
    command: process.execPath,
    args: ['--conditions=source', '--import', 'tsx', main, '-c', home.configDir, '-l', 'debug'],
    env: sandbox.env(),
    logFile: home.logFile,
  });
}

async function waitForPing(): Promise<void> {
  const answers = async (): Promise<boolean> => (await salt('test.ping')).ours === true;
  await until('our minion answers', answers, { withinMs: 60_000 }).catch(async (cause) => {
    throw new Error(`${await ours.log()}\n${await stock.log()}`, { cause });
  });
}

async function salt(...args: readonly string[]): Promise<Record<string, unknown>> {
  return saltTo('ours', ...args);
}

async function saltTo(tgt: string, ...args: readonly string[]): Promise<Record<string, unknown>> {
  const all = ['--out=json', '--static', '--no-color', tgt, ...args];
  const { stdout } = await sandbox.run(venv, 'salt', master, all);
  const at = stdout.indexOf('{');
  return at < 0 ? {} : (JSON.parse(stdout.slice(at)) as Record<string, unknown>);
}

describe('the salt command of 3008.2, over a master of 3008.2, and our minion', () => {
  test('test.ping is answered', async () => {
    expect(await salt('test.ping')).toEqual({ ours: true });
  });

  test('test.echo brings any text back', async () => {
    for (const text of ['plain', 'Grüße, 世界 😀', 'it\'s "quoted"', 'two words']) {
      expect(await salt('test.echo', text)).toEqual({ ours: text });
    }
  });

  test('arguments keep their types and their names', async () => {
    const found = await salt('test.arg_clean', '1', '1.5', 'true', '[a, 2]', 'name=value', 'n=7');
    expect(found).toEqual({
      ours: { args: [1, 1.5, true, ['a', 2]], kwargs: { name: 'value', n: 7 } },
    });
  });

  test('cmd.run gives what the shell prints, and its failure', async () => {
    expect(await salt('cmd.run', 'echo out; echo err >&2')).toEqual({ ours: 'out\nerr' });
    expect(await salt('cmd.run_all', 'printf äöü; exit 3')).toMatchObject({
      ours: { retcode: 3, stdout: 'äöü', stderr: '' },
    });
    const args = ['--out=json', 'ours', 'cmd.run', 'exit 4'];
    expect((await sandbox.run(venv, 'salt', master, args)).code).not.toBe(0);
  });

  test('bytes that are no UTF-8 arrive as they are', async () => {
    const args = ['--out=raw', 'ours', 'cmd.run', "printf 'a\\377\\376b'"];
    const { stdout } = await sandbox.run(venv, 'salt', master, args);
    expect(stdout).toContain(String.raw`b'a\xff\xfeb'`);
  });

  test('a job that outlasts the time-out is found running and waited for', async () => {
    const started = Date.now();
    const all = ['--out=json', '-t', '2', 'ours', 'test.sleep', '6'];
    const { stdout } = await sandbox.run(venv, 'salt', master, all);
    expect(JSON.parse(stdout)).toEqual({ ours: true });
    expect(Date.now() - started).toBeGreaterThan(6_000);
  });

  test('saltutil.running lists a job, and term_job ends it', async () => {
    const async = ['--async', 'ours', 'cmd.run', 'sleep 60'];
    const { stdout } = await sandbox.run(venv, 'salt', master, async);
    const jid = /\d{20}/.exec(stdout)?.[0] ?? '';
    const running = (await salt('saltutil.running'))['ours'];
    expect(running).toEqual(expect.arrayContaining([expect.objectContaining({ jid })]));
    expect((await salt('saltutil.term_job', jid))['ours']).toContain(jid);
    expect((await salt('saltutil.find_job', jid))['ours']).toEqual({});
  });

  test('unknown functions and wrong arguments are refused in words of Salt', async () => {
    expect(await salt('nope.nope')).toEqual({ ours: "'nope.nope' is not available." });
    expect(String((await salt('test.echo'))['ours'])).toMatch(
      /^Passed invalid arguments to test\.echo: echo\(\) missing 1 required positional argument/,
    );
    expect((await salt('test.ping', 'x=1'))['ours']).toBe(
      "ERROR executing 'test.ping': The following keyword arguments are not valid: x=1",
    );
  });

  test('grains reach the master, so that targets by grain work', async () => {
    expect(await saltTo('role:proof', '-G', 'test.ping')).toEqual({ ours: true });
    expect(await saltTo('os:*', '-G', 'test.ping')).toEqual({ ours: true });
    expect(await saltTo('S@127.0.0.0/8 and G@role:pr*', '-C', 'test.ping')).toEqual({ ours: true });
    expect(await salt('grains.get', 'role')).toEqual({ ours: 'proof' });
  });

  test('the pillar of the master is known, and targets by pillar work', async () => {
    expect(await salt('pillar.get', 'site:name')).toEqual({ ours: 'Süd' });
    expect(await saltTo('site:name:S*', '-I', 'test.ping')).toEqual({ ours: true });
  });

  test('several functions in one job come back together', async () => {
    expect(await salt('test.ping,test.echo', ',', 'x')).toEqual({
      ours: { 'test.ping': true, 'test.echo': 'x' },
    });
  });

  test('a new AES key of the master is picked up without losing the job', async () => {
    await sandbox.run(venv, 'salt-key', master, ['-y', '-d', 'nobody']);
    await stock.stop();
    stock = await sandbox.startMaster(venv, master);
    await waitForPing();
    expect(await salt('test.ping')).toEqual({ ours: true });
  });

  test('a minion whose key waits comes in when it is accepted, one that is rejected ends with 77', async () => {
    await stock.stop();
    const strict = await sandbox.master({ auto_accept: false }, master);
    stock = await sandbox.startMaster(venv, strict);
    const home = await sandbox.minion('late', master.retPort, { acceptance_wait_time: 1 });
    const late = startOurs(home);
    await late.waitForLog(/the key waits to be accepted/, READY_MS);
    await sandbox.run(venv, 'salt-key', master, ['-y', '-a', 'late']);
    await late.waitForLog(/signed in/, READY_MS);
    await late.stop();
    await sandbox.run(venv, 'salt-key', master, ['-y', '-r', 'late', '--include-accepted']);
    const again = startOurs(home);
    expect(await again.exited).toBe(77);
    expect(await readdir(join(master.pkiDir, 'minions_rejected'))).toEqual(['late']);
  });
});
