// Brine below two stock masters of masters: what `salt` prints above is what a tree of stock
// masters prints, and what was returned while a master above was away comes once it is back, once.
import {
  BrineMaster,
  SaltSandbox,
  saltVenv,
  type SaltHome,
  type SaltPorts,
  type SaltProcess,
  type SaltVenv,
  type SaltVersion,
} from '@brine/testing';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFailed } from 'vitest';
import { waitFor } from './stock-tools.ts';

const ABOVE: readonly SaltVersion[] = ['3006.26', '3008.2'];
const REAL = ['real-1', 'real-2'];
const SIMULATED = ['sim-1', 'sim-2', 'sim-3'];
const ALL = [...REAL, ...SIMULATED];
const SYNDIC = 'the-syndic';

/** A stock master of masters. */
interface Upper {
  readonly venv: SaltVenv;
  readonly sandbox: SaltSandbox;
  readonly home: SaltHome & SaltPorts;
  process: SaltProcess;
}

type Answers = Record<string, unknown>;

const uppers = new Map<string, Upper>();
let master: BrineMaster;

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
    timeout: 5,
    gather_job_timeout: 3,
    syndic_wait: 2,
  });
  return { venv, sandbox, home, process: await sandbox.startMaster(venv, home) };
}

/** As for salt-syndic: id and keys of the syndic stand in the minion configuration beside. */
async function syndicFile(home: SaltHome): Promise<void> {
  const pkiDir = join(home.configDir, 'syndic-pki');
  await mkdir(pkiDir, { recursive: true });
  const lines = [`id: ${SYNDIC}`, `pki_dir: ${pkiDir}`, 'acceptance_wait_time: 1'];
  await writeFile(join(home.configDir, 'minion'), `${lines.join('\n')}\n`);
  await chmod(join(home.configDir, 'minion'), 0o644);
}

beforeAll(async () => {
  for (const upper of await Promise.all(ABOVE.map(startUpper))) {
    uppers.set(upper.venv.version, upper);
  }
  const named = [...uppers.values()].map(({ home }) => `127.0.0.1:${home.retPort}`);
  master = await BrineMaster.start(
    {
      id: 'below',
      syndic_master: named,
      brine: { workers: 1 },
    },
    { onHome: syndicFile },
  );
  const venv = await saltVenv('3008.2');
  for (const id of REAL) {
    master.sandbox.startMinion(venv, await master.sandbox.minion(id, master.home.retPort));
  }
  for (const id of SIMULATED) await master.startMinion(id);
  await master.acceptKeys(ALL);
  await master.waitForMinions(ALL);
});

afterAll(async () => {
  await master?.close();
  for (const { sandbox } of uppers.values()) await sandbox.close();
});

function salt(version: string, ...args: string[]) {
  const { venv, sandbox, home } = upper(version);
  return sandbox.run(venv, 'salt', home, ['--no-color', ...args]);
}

async function answers(version: string, ...args: string[]): Promise<Answers> {
  const { stdout } = await salt(version, '--out=json', '--static', ...args);
  const at = stdout.indexOf('{');
  return at < 0 ? {} : (JSON.parse(stdout.slice(at)) as Answers);
}

describe.each(ABOVE)('below a stock master %s', (version) => {
  it('answers a ping, as if its minions were those of the master above', async () => {
    onTestFailed(() => {
      for (const { sandbox } of uppers.values()) sandbox.keepLogs();
      master.sandbox.keepLogs();
    });
    await waitFor('the syndic is heard', async () => {
      return Object.keys(await answers(version, '*', 'test.ping')).length === ALL.length;
    });
    const { stdout, code } = await salt(version, '*', 'test.ping');
    expect(code).toBe(0);
    const printed = stdout.split('\n').filter((line) => line !== '');
    const expected = ALL.flatMap((id) => [`${id}:`, '    True']);
    expect([...printed].sort()).toEqual([...expected].sort());
  });
});
