// A storm of events with a reaction each: what waits is on disk, and requests go on.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Bus, readerLags } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { Swarm } from '@brine/swarm';
import { BrineMaster, connectToOwn } from '@brine/testing';
import { sized } from '@brine/testing/circle';
import { loadPauses, until } from '@brine/testing/waits';
import { mapOf, pack } from '@brine/wire';
import { afterAll, beforeAll, expect, it } from 'vitest';

/** Events per second, and for how many seconds; 5,000 for 60 s in a long run. */
const RATE = Number(process.env['BRINE_STORM_RATE'] ?? 1_000);
const SECONDS = Number(process.env['BRINE_STORM_SECONDS'] ?? sized({ change: 6, release: 15 }));
/** Other traffic: returns per second. */
const RETURNS = 100;
const MINIONS = 50;
const PREFIX = 'storm-';
/** A service may grow by so much while the storm lasts, bytes. */
const GROWTH_MAX = 128 * 1024 ** 2;
/** All events have been compared with the list within this after the last one, ms. */
const MATCHED_MS = 600_000;
const BODY = pack(mapOf({ text: 'x'.repeat(200) }));
/** Each event makes a job for no minion: what is measured is the reactor, not the minions. */
const SLS = "call:\n  local.test.ping:\n    - tgt: nobody-{{ data['text'][:3] }}\n";

let master: BrineMaster;
let swarm: Swarm;
let bus: Bus;

beforeAll(async () => {
  master = await BrineMaster.start(
    {
      reactor: [{ 'storm/*': ['salt://react.sls'] }],
      brine: { workers: 2 },
    },
    {
      onHome: async ({ configDir }) => {
        await mkdir(join(configDir, 'files'), { recursive: true });
        await writeFile(join(configDir, 'files', 'react.sls'), SLS);
      },
    },
  );
  const { retPort, pkiDir } = master.home;
  swarm = await Swarm.start({ retPort, pkiDir, minions: MINIONS, idPrefix: PREFIX, keyPairs: 4 });
  await swarm.connect();
  bus = await connectToOwn(join(master.home.cacheDir, 'brine'));
}, 600_000);
afterAll(async () => {
  await bus?.close();
  await swarm?.close();
  await master?.close();
});

/** Resident memory of each service by its name, in bytes. */
async function memory(): Promise<ReadonlyMap<string, number>> {
  const sizes = (await master.services()).map(async ({ name, pid }) => {
    const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    return [name, Number(/VmRSS:\s+(\d+) kB/.exec(text)?.[1] ?? 0) * 1_024] as const;
  });
  return new Map(await Promise.all(sizes));
}

/** Fires events at the rate, in turns of some milliseconds. */
async function storm(kind: 'calm' | 'storm', seconds: number): Promise<number> {
  const writer = new EventWriter(bus, { timeoutMs: 30_000 });
  const began = performance.now();
  const inFlight = new Set<Promise<unknown>>();
  let fired = 0;
  while (performance.now() - began < seconds * 1_000) {
    const due = Math.floor(((performance.now() - began) / 1_000) * RATE);
    while (fired < due && inFlight.size < RATE) {
      const n = (fired += 1);
      const appending = writer
        .append({
          kind: 'local',
          tag: `${kind}/${n}`,
          body: BODY,
          msgId: `${kind}:${seconds}:${n}`,
        })
        .finally(() => inFlight.delete(appending));
      inFlight.add(appending);
    }
    await loadPauses(5);
  }
  await Promise.all(inFlight);
  return fired;
}

const returns = (seconds: number) =>
  swarm.returns({ inFlight: 64, ratePerSecond: RETURNS, durationMs: seconds * 1_000 });

async function failed(): Promise<{ readonly failed: unknown[]; readonly waiting: number }> {
  const { stdout } = await master.brine('run', ['reactor.failed', '--out', 'json']);
  return JSON.parse(stdout) as { failed: unknown[]; waiting: number };
}

/** Events that the reactor has not compared with its list. */
async function unmatched(): Promise<number> {
  const lags = (await readerLags(bus)).filter(({ reader }) => reader === 'reactor');
  return lags.reduce((sum, { pending, unacknowledged }) => sum + pending + unacknowledged, 0);
}

it('is bounded on disk, memory stays flat, and requests go on', async () => {
  await storm('storm', 2);
  await until('the first are done', async () => (await failed()).waiting === 0, {
    withinMs: 300_000,
  });
  const warm = await memory();
  const alone = await returns(10);
  const [, before] = await Promise.all([storm('calm', SECONDS), returns(SECONDS)]);
  // In calm minutes some kernels take pages back that a process has no use for just then.
  const memoryBefore = new Map(
    [...(await memory())].map(([name, at]) => [name, Math.max(at, warm.get(name) ?? 0)]),
  );

  const most = new Map<string, number>();
  const look = async (): Promise<void> => {
    for (const [name, bytes] of await memory()) {
      most.set(name, Math.max(bytes, most.get(name) ?? 0));
    }
  };
  const timer = setInterval(() => void look(), 1_000);
  const [fired, during] = await Promise.all([storm('storm', SECONDS), returns(SECONDS)]);
  clearInterval(timer);
  const behind = await unmatched();
  const { waiting } = await failed();
  const ratio = during.p99Ms / before.p99Ms;
  const mib = (bytes = 0): number => Math.round(bytes / 2 ** 20);
  process.stdout.write(
    `storm: ${fired} events in ${SECONDS} s, ${waiting} wait at its end, ` +
      `${behind} are not matched yet; p99 of returns ` +
      `${during.p99Ms.toFixed(1)} ms, with events that come to nothing ` +
      `${before.p99Ms.toFixed(1)} (${ratio.toFixed(2)}), alone ${alone.p99Ms.toFixed(1)}; ` +
      `MiB before and at most: ` +
      [...most]
        .map(([name, at]) => `${name} ${mib(memoryBefore.get(name))} ${mib(at)}`)
        .join(', ') +
      '\n',
  );
  expect(during.answered).toBe(during.sent);
  const growth = [...most].map(([name, at]) => [name, at - (memoryBefore.get(name) ?? 0)] as const);
  expect(growth.filter(([, bytes]) => bytes > GROWTH_MAX)).toEqual([]);
  // All of it finds room on the disk of a master with the defaults.
  expect(await master.log()).not.toContain('the queue of reactions is full');
  await until('all are matched', async () => (await unmatched()) === 0, {
    withinMs: MATCHED_MS,
  });
  // What waits is worked off, however long all of it takes.
  const left = (await failed()).waiting;
  await until('fewer wait', async () => left === 0 || (await failed()).waiting < left, {
    withinMs: 60_000,
  });
  expect((await failed()).failed).toEqual([]);
}, 1_800_000);
