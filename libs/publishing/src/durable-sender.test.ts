import type { Again } from '@brine/bus/jobs';
import type { Job } from '@brine/job';
import { isJid } from '@brine/job';
import { isMap, mapOf, pack, unpackMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { DurableSender } from './durable-sender.ts';
import type { DurableTask, LogIns } from './ports.ts';

const PUBLICATION = pack(
  mapOf({ fun: 'state.apply', arg: ['x'], tgt: '*', tgt_type: 'glob', jid: 'j', master_id: 'm' }),
);
const NOW = 1_795_000_000_000;

function task(more: Partial<DurableTask>): DurableTask {
  return {
    jid: 'j',
    requestId: 'r',
    turn: 1,
    look: 0,
    kind: 'ask',
    minions: ['a', 'b'],
    seq: 7,
    probe: '20261120120000100000_p',
    notAfter: NOW + 3_600_000,
    publication: PUBLICATION,
    ...more,
  };
}

class Bench {
  readonly tasks: DurableTask[] = [];
  readonly confirmed: DurableTask[] = [];
  readonly jobs: Job[] = [];
  readonly agains: { again: Again; slot: string }[] = [];
  readonly takes: ReadonlyMap<string, number>[] = [];
  readonly probes: string[] = [];
  readonly waits: number[] = [];
  readonly troubles: string[] = [];
  readonly logIns: { id: string; atMs: number }[] = [];
  listening = 0;
  fails = false;
  open = 1;
  readonly sender: DurableSender;

  constructor(rounds: number) {
    const fail = (): void => {
      if (this.fails) throw new Error('away');
    };
    this.sender = new DurableSender({
      now: () => NOW,
      wait: async (ms) => {
        this.waits.push(ms);
        await new Promise((resolve) => setImmediate(resolve));
        if (this.waits.length >= rounds) this.sender.close();
      },
      onTrouble: (what) => this.troubles.push(what),
      logIns: () => this.#follow(),
      store: {
        take: async (heard, probe) => {
          this.takes.push(heard);
          this.probes.push(probe);
          fail();
          return { task: this.tasks.shift(), open: this.open };
        },
        confirm: async (done) => void this.confirmed.push(done),
      },
      publications: {
        appendJob: async (record) => {
          fail();
          this.jobs.push(record);
          return { duplicate: false };
        },
        appendAgain: async (again, { slot }) => this.agains.push({ again, slot }),
      },
    });
  }

  #follow(): LogIns {
    this.listening += 1;
    const found = this.logIns;
    return {
      close: () => undefined,
      async *[Symbol.asyncIterator]() {
        yield* found;
      },
    };
  }
}

test('a question is a hidden find_job of its own; a repetition the same job for a list', async () => {
  const bench = new Bench(1);
  bench.tasks.push(task({}), task({ kind: 'send', look: 1, minions: ['b'] }));
  await bench.sender.look();
  const [question] = bench.jobs;
  expect(question).toMatchObject({ hidden: true, fun: 'saltutil.find_job', minions: ['a', 'b'] });
  expect(question).toMatchObject({ jid: '20261120120000100000_p', notAfter: NOW + 15_000 });
  const asked = Object.fromEntries(unpackMap(question?.publication ?? Buffer.of(0x80)));
  expect(asked).toMatchObject({ arg: ['j'], tgt: ['a', 'b'], tgt_type: 'list', master_id: 'm' });
  const [sent] = bench.agains;
  expect(sent?.slot).toBe('durable-r.1.1.0');
  expect(sent?.again).toMatchObject({ jid: 'j', seq: 7, notAfter: NOW + 15_000 });
  const again = unpackMap(sent?.again.only?.publication ?? Buffer.of(0x80));
  expect(Object.fromEntries(again)).toMatchObject({
    fun: 'state.apply',
    arg: ['x'],
    tgt: ['b'],
    tgt_type: 'list',
    jid: 'j',
  });
  expect(bench.confirmed).toHaveLength(2);
  expect(bench.sender.stats).toMatchObject({ asked: 2, sentAgain: 1, failed: 0 });
  for (const probe of bench.probes) expect(isJid(probe)).toBe(true);
  expect(new Set(bench.probes).size).toBe(bench.probes.length);
});

test('nothing is sent after the time of the job, in any case', async () => {
  const bench = new Bench(1);
  bench.tasks.push(task({ notAfter: NOW + 5 }), task({ notAfter: NOW + 5, kind: 'send' }));
  await bench.sender.look();
  expect(bench.jobs[0]?.notAfter).toBe(NOW + 5);
  expect(bench.agains[0]?.again.notAfter).toBe(NOW + 5);
});

test('100,000 minions are asked in pieces with pauses, each known by an id of its own', async () => {
  const bench = new Bench(1_000);
  const minions = Array.from({ length: 100_000 }, (_, n) => `minion-${n}.example.com`);
  bench.tasks.push(task({ minions }));
  await bench.sender.look();
  expect(bench.jobs).toHaveLength(100);
  expect(new Set(bench.jobs.map(({ requestId }) => requestId)).size).toBe(100);
  expect(bench.waits).toHaveLength(99);
  const sizes = bench.jobs.map(({ publication }) => publication.length);
  expect(Math.max(...sizes)).toBeLessThan(65_536);
});

test('a task that is not stored is not confirmed; lasting trouble is reported once', async () => {
  const bench = new Bench(1);
  bench.fails = true;
  bench.tasks.push(task({}));
  for (let looks = 0; looks < 5; looks += 1) await bench.sender.look();
  expect(bench.confirmed).toEqual([]);
  expect(bench.troubles).toEqual(['durable jobs wait']);
  expect(bench.sender.stats.failed).toBe(5);
  bench.fails = false;
  await bench.sender.look();
  expect(bench.confirmed).toHaveLength(1);
  bench.fails = true;
  for (let looks = 0; looks < 3; looks += 1) await bench.sender.look();
  expect(bench.troubles).toHaveLength(2);
});

test('log-ins are read while jobs are open, and go to the store with the next look', async () => {
  const bench = new Bench(4);
  bench.logIns.push({ id: 'a', atMs: 1 }, { id: 'b', atMs: 2 });
  await bench.sender.run();
  expect(bench.listening).toBe(1);
  const told = bench.takes.flatMap((heard) => [...heard]);
  expect(told).toEqual([
    ['a', 1],
    ['b', 2],
  ]);
  expect(bench.waits).toEqual([1_000, 1_000, 1_000, 1_000]);
});

test('log-ins that the store did not get are sent again', async () => {
  const bench = new Bench(3);
  bench.logIns.push({ id: 'a', atMs: 1 });
  bench.sender.wake();
  bench.fails = true;
  await bench.sender.run();
  expect(bench.takes.slice(1).map((heard) => [...heard])).toEqual([[['a', 1]], [['a', 1]]]);
});

test('without open jobs it looks seldom and listens to nothing, until one is published', async () => {
  const bench = new Bench(2);
  bench.open = 0;
  await bench.sender.run();
  expect(bench.waits).toEqual([10_000, 10_000]);
  expect(bench.listening).toBe(0);
  const woken = new Bench(2);
  woken.open = 0;
  woken.sender.wake();
  await woken.sender.run();
  expect(woken.waits).toEqual([1_000, 1_000]);
  expect(woken.listening).toBe(1);
});

test('the load of a question names no key', () => {
  const bench = new Bench(1);
  bench.tasks.push(task({}));
  return bench.sender.look().then(() => {
    const load = unpackMap(bench.jobs[0]?.load ?? Buffer.of(0x80));
    expect(isMap(load) && load.has('key')).toBe(false);
  });
});
