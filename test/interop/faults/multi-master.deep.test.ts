// Stock minions with several masters, each a Brine install with NATS and PostgreSQL of its own.
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  BrineMaster,
  freePorts,
  type SaltConfig,
  type SaltProcess,
  saltVenv,
  type SaltVersion,
} from '@brine/testing';
import { afterEach, describe, expect, it } from 'vitest';

const VERSIONS: readonly SaltVersion[] = ['3008.2', '3006.26'];
/** A minion gives one port for all its masters. */
const [A, B] = ['127.0.0.2', '127.0.0.3'];
const BOTH: SaltConfig = { master: [A, B] };
/**
 * As salt/minion.py eval_master asks for it. `distributed` is left out: it fails in these releases
 * before it connects (binascii.crc32 of a text).
 */
const FAILOVER: SaltConfig = {
  ...BOTH,
  master_type: 'failover',
  retry_dns: 0,
  master_alive_interval: 2,
  master_tries: -1,
};
const READY_MS = 240_000;

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

interface Install {
  readonly master: BrineMaster;
  readonly pkiDir: string;
}

/** Two installs on the same ports of two addresses; the second gets these keys of the first. */
async function twoInstalls(
  config: SaltConfig,
  shared: readonly string[],
): Promise<readonly [Install, Install]> {
  const [publishPort, retPort] = await freePorts(2);
  const ports = { publish_port: publishPort, ret_port: retPort };
  const start = async (host: string, from?: Install): Promise<Install> => {
    const options = { ...ports, ...config, interface: host, auto_accept: true };
    const master = await BrineMaster.start(
      { ...options, brine: { workers: 1 } },
      {
        onHome: async ({ pkiDir }) => {
          if (from === undefined) return;
          for (const name of shared) await copyFile(join(from.pkiDir, name), join(pkiDir, name));
        },
      },
    );
    open.push(master);
    return { master, pkiDir: master.home.pkiDir };
  };
  const first = await start(A);
  return [first, await start(B, first)];
}

/** Starts one minion of each release, with these keys of the master, and gives their ids. */
async function startMinions(
  { master, pkiDir }: Install,
  name: string,
  config: SaltConfig,
  keys: readonly string[] = [],
): Promise<{ readonly ids: readonly string[]; readonly processes: readonly SaltProcess[] }> {
  const told = await master.file('master');
  const port = (name: string): number =>
    Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(told)?.[1]);
  // Whether a master is alive is looked up by that port (salt/modules/status.py master).
  const all = { ...config, publish_port: port('publish_port') };
  const ids = VERSIONS.map((version) => `${name}-${version}`);
  const processes: SaltProcess[] = [];
  for (const [index, version] of VERSIONS.entries()) {
    const home = await master.sandbox.minion(ids[index] ?? '', port('ret_port'), all);
    for (const key of keys) await copyFile(join(pkiDir, key), join(home.pkiDir, key));
    processes.push(master.sandbox.startMinion(await saltVenv(version), home));
  }
  return { ids, processes };
}

/** Waits until each of them answers a job of this install. */
async function answer({ master }: Install, ids: readonly string[]): Promise<void> {
  await master.acceptKeys(ids, READY_MS);
  await master.waitForMinions(ids, READY_MS);
}

async function accepted({ master }: Install): Promise<readonly string[]> {
  const { stdout } = await master.brine('key', ['-l', 'acc', '--out', 'json']);
  return (JSON.parse(stdout) as { readonly minions?: readonly string[] }).minions ?? [];
}

describe('installs with the same master.pem', () => {
  it('serve minions of every master_type, and those of one that is lost', async () => {
    const [a, b] = await twoInstalls({}, ['master.pem', 'master.pub']);
    const both = await startMinions(a, 'both', { ...BOTH, random_master: true });
    const failover = await startMinions(a, 'failover', FAILOVER);
    const disabled = await startMinions(a, 'disabled', { ...BOTH, master_type: 'disable' });
    const modules = join(a.master.home.configDir, 'modules');
    await mkdir(modules);
    await writeFile(join(modules, 'which_master.py'), `def address():\n    return '${B}'\n`);
    const asked = await startMinions(a, 'asked', {
      master: 'which_master.address',
      master_type: 'func',
      module_dirs: [modules],
    });

    await answer(a, [...both.ids, ...failover.ids]);
    await answer(b, [...both.ids, ...asked.ids]);
    // Those of failover are at the first that answers, and at no other.
    const [atA, atB] = [await accepted(a), await accepted(b)];
    expect(atB.filter((id) => failover.ids.includes(id))).toEqual([]);
    expect(atA.filter((id) => asked.ids.includes(id))).toEqual([]);

    await a.master.stop();
    await answer(b, [...both.ids, ...failover.ids, ...asked.ids]);
    // Without a master they live, and ask none.
    for (const { pid } of disabled.processes) process.kill(Number(pid), 0);
    const { stdout } = await b.master.brine('key', ['-L', '--out', 'json']);
    expect(stdout).not.toContain('disabled');
  }, 900_000);
});

describe('installs with keys of their own', () => {
  it('are believed by minions that check the signature of one signing key', async () => {
    const signing = { master_sign_pubkey: true };
    const [a, b] = await twoInstalls(signing, ['master_sign.pem', 'master_sign.pub']);
    const [keyOfA, keyOfB] = await Promise.all(
      [a, b].map(({ master }) => master.file('pki', 'master.pub')),
    );
    expect(keyOfA).not.toBe(keyOfB);
    const verifying = { ...FAILOVER, verify_master_pubkey_sign: true };
    const { ids } = await startMinions(a, 'verifying', verifying, ['master_sign.pub']);
    await answer(a, ids);
    await a.master.stop();
    await answer(b, ids);
  }, 900_000);
});
