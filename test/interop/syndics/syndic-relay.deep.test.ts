// Brine below two stock masters of masters and a Brine one, with two relays: what `salt` prints
// above is what a tree of stock masters prints, each job runs once on each minion, and what was
// returned while a master above was away comes once it is back, once.
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BrineMaster,
  type SaltHome,
  type SaltOutput,
  type SaltPorts,
  SaltProcess,
  SaltSandbox,
  type SaltVenv,
  saltVenv,
  type SaltVersion,
  startNats,
  type TestNats,
} from '@brine/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../stock-tools/stock-tools.ts';
import { TREE_APPLIED, TREE_STATES } from './stock-tree.ts';

const ABOVE: readonly SaltVersion[] = ['3006.26', '3008.2'];
const REAL = ['real-1', 'real-2'];
/** BRINE_TREE_MINIONS: that many below in all. */
const IN_ALL = Number(process.env['BRINE_TREE_MINIONS'] ?? 4);
const SIMULATED = Array.from({ length: IN_ALL - REAL.length }, (_, n) => `sim-${n + 1}`).sort();
const ALL = [...REAL, ...SIMULATED];
/** By name: with `*` a stock salt waits for the syndics too, whose keys it knows. */
const LISTED = ['-L', ALL.join(',')];
const RELAY = join(import.meta.dirname, '../../../apps/syndic-relay/dist/main.js');

/** A stock master of masters. */
interface Upper {
  readonly venv: SaltVenv;
  readonly sandbox: SaltSandbox;
  readonly home: SaltHome & SaltPorts;
  process: SaltProcess;
}

const uppers = new Map<string, Upper>();
let nats: TestNats;
let top: BrineMaster;
let master: BrineMaster;
let secondRelay: SaltProcess;
let simulated: SaltProcess[];

function upper(version: string): Upper {
  const found = uppers.get(version);
  if (found === undefined) throw new Error(`no master ${version}`);
  return found;
}

async function startUpper(version: SaltVersion): Promise<Upper> {
  const venv = await saltVenv(version);
  const sandbox = await SaltSandbox.create();
  const home = await sandbox.master({
    order_masters: true,
    master_id: `above-${version}`,
    gather_job_timeout: 3,
    syndic_wait: 2,
  });
  return { venv, sandbox, home, process: await sandbox.startMaster(venv, home) };
}

/** A Brine master of masters. */
function startTop(): Promise<BrineMaster> {
  return BrineMaster.start({
    order_masters: true,
    master_id: 'above-brine',
    auto_accept: true,
    syndic_wait: 2,
    brine: { workers: 1 },
  });
}

/** As for salt-syndic: id and keys of the syndic stand in the minion configuration beside. */
async function asSyndic(configDir: string, id: string): Promise<void> {
  const pkiDir = join(configDir, 'syndic-pki');
  await mkdir(pkiDir, { recursive: true });
  const lines = [`id: ${id}`, `pki_dir: ${pkiDir}`, 'acceptance_wait_time: 1'];
  await writeFile(join(configDir, 'minion'), `${lines.join('\n')}\n`);
}

/** Another relay beside the master's own, with an id and keys of its own. */
async function startSecondRelay(): Promise<SaltProcess> {
  const configDir = join(master.sandbox.dir, 'second-relay');
  await mkdir(configDir);
  await copyFile(join(master.home.configDir, 'master'), join(configDir, 'master'));
  await asSyndic(configDir, 'syndic-2');
  return SaltProcess.start({
    command: process.execPath,
    args: [RELAY, '-c', configDir, '-l', 'info'],
    env: { ...master.sandbox.env(), NATS_URL: nats.urls['syndic-relay'] },
    logFile: join(configDir, 'log'),
  });
}

beforeAll(async () => {
  nats = await startNats({ streams: false });
  const [brine, ...stock] = await Promise.all([startTop(), ...ABOVE.map(startUpper)]);
  top = brine;
  for (const one of stock) uppers.set(one.venv.version, one);
  const named = [top, ...stock].map(({ home }) => `127.0.0.1:${home.retPort}`);
  master = await BrineMaster.start(
    {
      id: 'below',
      syndic_master: named,
      file_roots: { base: [TREE_STATES] },
      brine: { workers: 1 },
    },
    {
      env: { NATS_URL: nats.urls.admin },
      onHome: (home) => asSyndic(home.configDir, 'syndic-1'),
    },
  );
  secondRelay = await startSecondRelay();
  const venv = await saltVenv('3008.2');
  for (const id of REAL) {
    master.sandbox.startMinion(venv, await master.sandbox.minion(id, master.home.retPort));
  }
  simulated = await Promise.all(SIMULATED.map((id) => master.startMinion(id)));
  await master.acceptKeys(ALL);
  await master.waitForMinions(ALL);
  await waitFor('both relays hear all masters above', async () => {
    const counts = await Promise.all([top.home, ...stock.map(({ home }) => home)].map(timesHeard));
    return counts.flat().every((count) => count > 0);
  });
});

afterAll(async () => {
  await secondRelay?.stop();
  await master?.close();
  await top?.close();
  for (const { sandbox } of uppers.values()) await sandbox.close();
  await nats?.close();
});

/** How often each of the two relays began to receive jobs of this master above. */
async function timesHeard({ retPort }: SaltPorts): Promise<number[]> {
  const logs = [await master.log(), await secondRelay.log()];
  const isSo = (line: string): boolean =>
    line.includes('receiving jobs of the master above') && line.includes(`127.0.0.1:${retPort}`);
  return logs.map((log) => log.split('\n').filter(isSo).length);
}

function salt(version: string, ...args: string[]): Promise<SaltOutput> {
  const { venv, sandbox, home } = upper(version);
  return sandbox.run(venv, 'salt', home, ['--no-color', ...args]);
}

async function answers(version: string, ...args: string[]): Promise<Record<string, unknown>> {
  const { stdout } = await salt(version, '--out=json', '--static', ...args);
  const at = stdout.indexOf('{');
  return at < 0 ? {} : (JSON.parse(stdout.slice(at)) as Record<string, unknown>);
}

async function jidOf(version: string, ...args: string[]): Promise<string> {
  const { stdout } = await salt(version, '--async', ...args);
  const jid = /^Executed command with job ID: (\d{20})$/m.exec(stdout)?.[1];
  if (jid === undefined) throw new Error(`no jid: ${stdout}`);
  return jid;
}

/** What `salt-run jobs.lookup_jid` shows above. */
async function lookUp(version: string, jid: string): Promise<Record<string, unknown>> {
  const { venv, sandbox, home } = upper(version);
  const args = ['jobs.lookup_jid', jid, '--out=json'];
  const { stdout } = await sandbox.run(venv, 'salt-run', home, args);
  return JSON.parse(stdout.trim() === '' ? '{}' : stdout) as Record<string, unknown>;
}

/** Which minions' returns of a job a stock master has taken, as often as it has. */
async function taken(version: string, jid: string): Promise<string[]> {
  const log = await upper(version).process.log();
  const lines = log.matchAll(new RegExp(`Got return from (\\S+) for job ${jid}`, 'g'));
  return [...lines].map(([, id = '']) => id).sort();
}

const from = (value: unknown): Record<string, unknown> =>
  Object.fromEntries(ALL.map((id) => [id, value]));

describe.each(ABOVE)('below a stock master %s', (version) => {
  it('every minion answers once, and salt prints nothing else', async () => {
    const { stdout, stderr, code } = await salt(version, '*', 'test.ping');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const printed = stdout.split('\n').filter((line) => line !== '');
    expect(printed.sort()).toEqual(ALL.flatMap((id) => [`${id}:`, '    True']).sort());
  });

  it('a command runs once on each minion, though two relays bring it', async () => {
    const file = join(master.sandbox.dir, `ran-${version}`);
    const found = await answers(version, ...LISTED, 'cmd.run', `echo x >> ${file}; echo Grüße`);
    expect(found).toEqual(from('Grüße'));
    expect((await readFile(file, 'utf8')).trim().split('\n')).toHaveLength(ALL.length);
  });

  it('state.apply gives what the states of the master below come to', async () => {
    const args = ['-L', REAL.join(','), '-t', '15'];
    const got = await answers(version, ...args, 'state.apply', 'tree');
    expect(Object.keys(got).sort()).toEqual(REAL);
    for (const states of Object.values(got)) expect(states).toMatchObject(TREE_APPLIED);
  });

  it('--async gives a job id, and its returns are found above, taken once each', async () => {
    const jid = await jidOf(version, '*', 'test.echo', 'kept');
    await waitFor('all returns are above', async () => {
      return (await taken(version, jid)).length >= ALL.length;
    });
    expect(await lookUp(version, jid)).toEqual(from('kept'));
    expect(await taken(version, jid)).toEqual(ALL);
    const [other = ''] = ABOVE.filter((one) => one !== version);
    expect(await taken(other, jid)).toEqual([]);
    const { stdout } = await master.brine('run', ['jobs.list_job', jid, '--out', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({ jid, Function: 'test.echo', Arguments: ['kept'] });
  });
});

it('below a Brine master it is the same, and its ledger adds up', async () => {
  const { stdout, code } = await top.brine('salt', ['--no-color', '*', 'test.ping']);
  expect(code).toBe(0);
  const printed = stdout.split('\n').filter((line) => line !== '');
  expect(printed.sort()).toEqual(ALL.flatMap((id) => [`${id}:`, '    True']).sort());
  const file = join(master.sandbox.dir, 'ran-brine');
  const args = ['*', 'cmd.run', `echo x >> ${file}; echo Grüße`, '--async'];
  const jid = /\d{20}/.exec((await top.brine('salt', args)).stdout)?.[0] ?? '';
  const ask = async (fun: string): Promise<unknown> =>
    JSON.parse((await top.brine('run', [fun, jid, '--out', 'json'])).stdout.trim() || '{}');
  await waitFor('all returns are above', async () => {
    return Object.keys((await ask('jobs.lookup_jid')) as object).length === ALL.length;
  });
  expect(await ask('jobs.lookup_jid')).toEqual(from('Grüße'));
  expect(await ask('jobs.missing')).toEqual({});
  expect((await readFile(file, 'utf8')).trim().split('\n')).toHaveLength(ALL.length);
});

it('what is returned while a master above is away comes once it is back, once', async () => {
  const one = upper('3008.2');
  // Killed, and before the minions may return: a return that a master takes as it stops, without a
  // word to the relay, is rightly sent again.
  const mayReturn = join(master.sandbox.dir, 'may-return');
  const command = `until [ -e ${mayReturn} ]; do sleep 0.2; done; echo late`;
  const expected = Object.fromEntries(REAL.map((id) => [id, 'late']));
  const jid = await jidOf('3008.2', '-L', REAL.join(','), 'cmd.run', command);
  const before = await timesHeard(one.home);
  // The stock command gives the job's id before its master has sent it.
  await waitFor('the job is below', async () => (await master.log()).includes(`jid=${jid}`));
  await one.process.kill();
  expect(await taken('3008.2', jid)).toEqual([]);
  await writeFile(mayReturn, '');
  await waitFor('all have returned below', async () => {
    const { stdout } = await master.brine('run', ['jobs.lookup_jid', jid, '--out', 'json']);
    return Object.keys(JSON.parse(stdout.trim() || '{}') as object).length === REAL.length;
  });
  const lost = new RegExp(`no jobs of the master above until.*127.0.0.1:${one.home.retPort}`);
  await waitFor('that is told', async () => lost.test(await master.log()));
  // The other one is served all the while.
  expect(await answers('3006.26', ...LISTED, 'test.ping')).toEqual(from(true));
  one.process = await one.sandbox.startMaster(one.venv, one.home);
  await waitFor('all returns are above', async () => {
    return Object.keys(await lookUp('3008.2', jid)).length === REAL.length;
  });
  expect(await lookUp('3008.2', jid)).toEqual(expected);
  expect(await taken('3008.2', jid)).toEqual(REAL);
  expect(await taken('3006.26', jid)).toEqual([]);
  // Up to 11 s, as Salt draws the pause between two tries (recon_default, recon_max).
  await waitFor('both relays hear it again', async () => {
    const now = await timesHeard(one.home);
    return now.every((count, at) => count > (before[at] ?? 0));
  });
});

it('the master above hears of a minion that is away as in a tree of stock masters', async () => {
  const away = SIMULATED.at(-1) ?? '';
  await simulated.at(-1)?.stop();
  // The seconds also bound how long a stock master may take to accept the command.
  const { stdout, stderr, code } = await salt('3008.2', '*', 'test.ping', '-t', '10');
  for (const id of ALL) {
    if (id !== away) expect(stdout, stderr).toContain(`${id}:\n    True\n`);
  }
  expect(stdout).toContain(`${away}:\n    Minion did not return. [No response]\n`);
  expect(stdout.match(/Minion did not return/g)).toHaveLength(1);
  expect(code).toBe(1);
});
