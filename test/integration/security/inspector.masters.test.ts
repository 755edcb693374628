import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { BrineMaster, type SaltProcess } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { afterAll, beforeAll, expect, test } from 'vitest';

const LINE = 'SIGUSR1 is taken';
const WAIT = { withinMs: 60_000 };

let master: BrineMaster;
let minion: SaltProcess;

beforeAll(async () => {
  // As it may stand in a forgotten environment file.
  master = await BrineMaster.start(
    { brine: { workers: 2 } },
    { env: { NODE_OPTIONS: '--inspect=127.0.0.1:0' } },
  );
  minion = await master.startMinion('a');
  await master.acceptKeys(['a']);
  await master.waitForMinions(['a']);
}, 240_000);
afterAll(() => master.close());

/** A process and all below it that are Node. */
function nodesBelow(root: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const parents = new Map(
    pids.flatMap((pid): [number, number][] => {
      try {
        const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ');
        return [[Number(pid), Number(fields?.[1])]];
      } catch {
        return []; // It ended meanwhile.
      }
    }),
  );
  const found = [root];
  for (const pid of found) {
    for (const [child, parent] of parents) if (parent === pid) found.push(child);
  }
  return found.filter((pid) => readlinkSync(`/proc/${pid}/exe`) === process.execPath);
}

/** Ports of TCP on which these processes listen. */
function portsOf(pids: readonly number[]): number[] {
  const own = new Set<string>();
  for (const pid of pids) {
    for (const fd of readdirSync(`/proc/${pid}/fd`)) {
      try {
        const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
        if (inode !== undefined) own.add(inode);
      } catch {
        continue; // Closed since it was listed.
      }
    }
  }
  const rows = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1);
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter((fields) => fields[3] === '0A' && own.has(fields[9] ?? ''))
    .map(([, local = '']) => Number.parseInt(local.split(':')[1] ?? '', 16));
}

/** Ports on which an inspector answers. */
async function inspectors(pids: readonly number[]): Promise<number[]> {
  const asked = portsOf(pids).map(async (port) => {
    const url = `http://127.0.0.1:${port}/json/version`;
    const text = await fetch(url, { signal: AbortSignal.timeout(2_000) })
      .then((answer) => answer.text())
      .catch(() => '');
    return text.includes('node.js/') ? [port] : [];
  });
  return (await Promise.all(asked)).flat();
}

const linesIn = (log: string): number => log.split(LINE).length - 1;

test('no process of a master or a minion has an inspector, SIGUSR1 opens none', async () => {
  const ofMaster = nodesBelow(master.pid ?? 0);
  const ofMinion = nodesBelow(minion.pid ?? 0);
  const all = [...ofMaster, ...ofMinion];
  const services = await master.services();
  expect(ofMaster.length).toBe(1 + services.length);
  // `brine minion`, the minion itself, and a spare process for its jobs.
  expect(ofMinion.length).toBeGreaterThanOrEqual(3);
  expect(await inspectors(all)).toEqual([]);
  for (const pid of all) process.kill(pid, 'SIGUSR1');
  const lines = async (): Promise<boolean> => linesIn(await master.log()) >= ofMaster.length;
  await until('a line of each service', lines, WAIT);
  await until('a line of the minion', async () => linesIn(await minion.log()) >= 1, WAIT);
  expect(await inspectors(all)).toEqual([]);
});

test('a service that is being started can not be caught before it listens to the signal', async () => {
  const name = 'publisher';
  const serviceOf = async () => (await master.services()).find((one) => one.name === name);
  const before = (await serviceOf())?.pid ?? 0;
  process.kill(before, 'SIGKILL');
  const signalled = new Set<number>();
  const open: number[] = [];
  const servesAgain = async (): Promise<boolean> => {
    const now = await serviceOf();
    if (now?.pid === undefined || now.pid === before) return false;
    try {
      process.kill(now.pid, 'SIGUSR1');
      signalled.add(now.pid);
      open.push(...(await inspectors([now.pid])));
    } catch {
      return false; // Node itself did not run yet: the signal ends it, and it starts again.
    }
    return now.ready;
  };
  await until('it serves again', servesAgain, WAIT);
  expect(signalled.size).toBeGreaterThan(0);
  expect(open).toEqual([]);
});
