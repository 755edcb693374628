import { chmod, copyFile, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveNatsServer } from '@brine/nats-server';
import { BrineMaster } from '@brine/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

const USER = 'nobody';
const NOBODY = 65534;

// Only root can become another user: elsewhere the refusal is tested beside run-master.ts.
const isRoot = process.getuid?.() === 0;

describe('a master that root starts with user: nobody', () => {
  let master: BrineMaster;
  let programs: string;

  beforeEach((context) => {
    context.skip(!isRoot, 'this is not root');
  });

  beforeAll(async () => {
    if (!isRoot) return;
    const binary = await resolveNatsServer({ env: process.env });
    // That of root can not be read by others.
    programs = await mkdtemp(join(tmpdir(), 'brine-programs-'));
    await copyFile(binary, join(programs, 'nats-server'));
    for (const path of [programs, join(programs, 'nats-server')]) await chmod(path, 0o755);
    const env = { PATH: `${programs}:${process.env['PATH'] ?? ''}` };
    master = await BrineMaster.start({ user: USER, brine: { workers: 1 } }, { env });
  }, 240_000);
  afterAll(async () => {
    await master?.close();
    if (isRoot) await rm(programs, { recursive: true, force: true });
  });

  test('runs nothing as root: neither itself nor its services nor its servers', async () => {
    const tree = await processesBelow(master.pid ?? 0);
    expect(tree.length).toBeGreaterThan(7);
    for (const { pid, uids, name } of tree) {
      expect([pid, name, uids]).toEqual([pid, name, Array.from({ length: 4 }, () => NOBODY)]);
    }
  });

  test('owns all of its files', async () => {
    const { cacheDir, pkiDir, sockDir, configDir } = master.home;
    const foreign: string[] = [];
    for (const dir of [cacheDir, pkiDir, sockDir]) {
      for (const path of [dir, ...(await pathsBelow(dir))]) {
        const found = await stat(path).catch(() => undefined);
        if (found !== undefined && found.uid !== NOBODY) foreign.push(path);
      }
    }
    expect(foreign).toEqual([]);
    expect((await stat(join(configDir, 'pid'))).uid).toBe(NOBODY);
    // What the operator wrote stays the operator's.
    expect((await stat(join(configDir, 'master'))).uid).toBe(0);
  });

  test('serves jobs, and again after a kill of everything', async () => {
    await master.startMinion('a');
    await master.acceptKeys(['a']);
    await master.waitForMinions(['a']);
    await master.killAndStart();
    await master.waitForMinions(['a']);
    const { code, stdout } = await master.brine('salt', ['a', 'test.ping', '--out', 'json']);
    expect([code, JSON.parse(stdout)]).toEqual([0, { a: true }]);
  }, 240_000);
});

interface Process {
  readonly pid: number;
  readonly name: string;
  readonly uids: readonly number[];
}

async function processesBelow(root: number): Promise<Process[]> {
  const found: Process[] = [];
  const parents = new Map<number, number>();
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)) {
    const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    const field = (name: string): string =>
      new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(text)?.[1] ?? '';
    if (text === '') continue;
    parents.set(pid, Number(field('PPid')));
    found.push({ pid, name: field('Name'), uids: field('Uid').split('\t').map(Number) });
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (pid === root || isBelow(parents.get(pid)));
  return found.filter(({ pid }) => isBelow(pid));
}

async function pathsBelow(dir: string): Promise<string[]> {
  return (await readdir(dir, { recursive: true })).map((name) => join(dir, name));
}
