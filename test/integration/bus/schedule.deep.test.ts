// Two workers with a schedule, while they and NATS are killed: each due time runs once.
import { Bucket, type Bus, connectBus, escapeKey, handleEach } from '@brine/bus';
import { EventReader } from '@brine/bus/events';
import { BrineMaster } from '@brine/testing';
import { faultLasts, until } from '@brine/testing/waits';
import { isMap, listOf, type SaltMap, textOf, unpack, unpackMap } from '@brine/wire';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BreakableNats } from '../faults/breakable-nats.ts';

const JOBS = 10;
/** Each job is due at every second that is a multiple of this. */
const EVERY_S = 3;
/** Due times of each job; more than 32 are not remembered. */
const TIMES = 20;
/** Between two kills, ms. */
const FAULT_MS = 7_000;
/** A killed worker's run goes to another one within this, ms. */
const FAILOVER_MS = 120_000;

const names = Array.from({ length: JOBS }, (_, n) => `job${n}`);

interface Run {
  readonly due: number;
  readonly jid: string;
  readonly ended: boolean;
}

describe('a schedule over two workers while its parts are killed', () => {
  let nats: BreakableNats;
  let master: BrineMaster;
  let bus: Bus;

  beforeAll(async () => {
    nats = await BreakableNats.start();
    const schedule = Object.fromEntries(
      names.map((name) => [
        name,
        { function: 'test.arg', args: [name], cron: `* * * * * */${EVERY_S}`, maxrunning: 10 },
      ]),
    );
    master = await BrineMaster.start({ schedule, brine: { runners: 2, nats: { url: nats.url } } });
    bus = await connectBus({ url: nats.url, name: 'event-bus', connectTimeoutMs: 10_000 });
  }, 600_000);
  afterAll(async () => {
    await bus?.close();
    await master?.close();
    await nats?.[Symbol.asyncDispose]();
  });

  /** The runs of a job that are on record, the oldest first. */
  async function runsOf(name: string): Promise<readonly Run[]> {
    const entry = await new Bucket(bus, 'brine_reactor').get(escapeKey('due', name));
    const stored = entry === undefined ? undefined : unpack(entry.value);
    const runs = isMap(stored) ? (listOf(stored, 'runs') ?? []).filter(isMap) : [];
    const read = (map: SaltMap): Run => ({
      due: Number(map.get('due')),
      jid: textOf(map, 'jid') ?? '',
      ended: map.has('ended') && map.get('success') === true,
    });
    return runs.map(read).sort((a, b) => a.due - b.due);
  }

  async function workers(): Promise<number[]> {
    const found = (await master.services()).filter(({ name }) => name.startsWith('runner-pool'));
    return found.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  }

  async function killWorker(): Promise<void> {
    const pids = await workers();
    const pid = pids[Math.floor(Math.random() * pids.length)];
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  }

  async function killWorkers(): Promise<void> {
    for (const pid of await workers()) process.kill(pid, 'SIGKILL');
  }

  async function killNats(): Promise<void> {
    await nats.kill();
    await nats.again();
  }

  it(`${JOBS * TIMES} due times run once each`, async () => {
    const begun = new Map<string, number>();
    const reader = new EventReader(bus, { kinds: ['local'] });
    const reading = handleEach(reader, async (event) => {
      if (!/^salt\/run\/\d{20}\/new$/.test(event.tag)) return;
      const data = unpackMap(await event.fetch());
      if (data.get('fun') !== 'runner.test.arg') return;
      const jid = textOf(data, 'jid') ?? '';
      begun.set(jid, (begun.get(jid) ?? 0) + 1);
    });
    await until('events are read', () => reader.reading);
    await until('it runs', async () => (await runsOf('job0')).length > 0, {
      withinMs: FAILOVER_MS,
    });
    const faults = [killWorker, killWorkers, killNats, killWorker, killWorkers];
    for (const fault of faults) {
      await faultLasts(FAULT_MS);
      const at = Date.now();
      await fault();
      // A due time that is late by a minute is missed, by rule: one fault follows the other's end.
      const goesOn = async () => ((await runsOf('job0')).at(-1)?.due ?? 0) > at;
      await until('the schedule goes on', goesOn, { withinMs: FAILOVER_MS });
    }
    await until(
      'each job has its times',
      async () => {
        const runs = await Promise.all(names.map(runsOf));
        return runs.every((one) => one.length >= TIMES);
      },
      { withinMs: FAILOVER_MS },
    );
    expect((await master.brine('run', ['schedule.disable'])).code).toBe(0);
    await until(
      'all that began has ended',
      async () => (await Promise.all(names.map(runsOf))).flat().every(({ ended }) => ended),
      { withinMs: FAILOVER_MS },
    );
    reader.close();
    await reading;

    const runs = await Promise.all(names.map(runsOf));
    for (const [at, one] of runs.entries()) {
      const dues = one.map(({ due }) => due);
      const grid = dues.map((_, n) => (dues[0] ?? 0) + n * EVERY_S * 1_000);
      expect(dues, `the times of ${names[at]}`).toEqual(grid);
      expect((dues[0] ?? 1) % (EVERY_S * 1_000)).toBe(0);
    }
    const jids = runs.flat().map(({ jid }) => jid);
    expect(new Set(jids).size).toBe(jids.length);
    expect(jids.length).toBeGreaterThanOrEqual(JOBS * TIMES);
    // Nothing ran beside what is on record, and no run was begun twice.
    const known = new Set(jids);
    const others = [...begun.keys()].filter((jid) => !known.has(jid));
    // Each job remembers its last runs only.
    const remembered =
      runs
        .map((one) => one[0]?.jid ?? '')
        .sort()
        .at(-1) ?? '';
    expect(others.filter((jid) => jid > remembered)).toEqual([]);
    expect([...begun].filter(([, times]) => times > 1)).toEqual([]);
    process.stdout.write(`schedule: ${jids.length} due times, ${faults.length} kills, once each\n`);
  }, 600_000);
});
