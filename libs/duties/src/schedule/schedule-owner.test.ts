import type { Reaction } from '@brine/bus/reactions';
import type { StoredRun } from '@brine/cluster-work';
import { type Asked, NOTHING_ASKED, readSchedule, readState } from '@brine/schedule';
import { until } from '@brine/testing/waits';
import { isMap, type SaltMap, type SaltValue, unpackMap } from '@brine/wire';
import { expect, test } from 'vitest';
import { ScheduleOwner } from './schedule-owner.ts';

type Plain = null | boolean | number | string | readonly Plain[] | { [key: string]: Plain };

const salted = (value: Plain): SaltValue => {
  if (Array.isArray(value)) return value.map(salted);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([key, item]) => [key, salted(item)]));
};

/** The run of the schedule in the bucket, and the queue: both outlive each process. */
class Cluster {
  data: SaltMap = new Map();
  readonly queued = new Map<string, Reaction>();
  asked: Asked = NOTHING_ASKED;
  /** How often a save works yet; then the process is dead. */
  saves = Infinity;
  full = false;
  readonly counts: string[] = [];
  readonly troubles: string[] = [];
  nowMs = Date.UTC(2026, 10, 25, 10);

  /** A process that has the schedule until it is ended. */
  worker(schedule: Plain): { readonly end: () => Promise<void> } {
    const released = new AbortController();
    const given = salted(schedule);
    const run = {
      jid: 'schedule',
      data: this.data,
      released: released.signal,
      check: () => released.signal.throwIfAborted(),
      save: async (data: SaltMap) => {
        this.saves -= 1;
        if (this.saves < 0) {
          released.abort();
          throw new Error('the worker is dead');
        }
        this.data = data;
      },
    } as unknown as StoredRun;
    const owner = new ScheduleOwner({
      schedule: readSchedule(isMap(given) ? given : new Map(), 2026),
      zone: { offsetAt: () => 0 },
      zoneName: 'UTC',
      loopMs: 60_000,
      queue: {
        add: async (reaction) => {
          if (this.full) return 'full';
          if (this.queued.has(reaction.id)) return 'known';
          this.queued.set(reaction.id, reaction);
          return 'added';
        },
      },
      asked: async () => this.asked,
      count: (outcome) => this.counts.push(outcome),
      onTrouble: (text) => this.troubles.push(text),
      now: () => this.nowMs,
    });
    const working = owner.work(run);
    return {
      end: async () => {
        released.abort();
        await working;
      },
    };
  }
}

const POLL = { poll: { function: 'test.true', seconds: 5, run_on_start: false } };

test('what is due is queued under its name and time, and the state is stored', async () => {
  const cluster = new Cluster();
  const worker = cluster.worker(POLL);
  await until('the schedule is stored', () => readState(cluster.data) !== undefined);
  cluster.nowMs += 5_000;
  await until('it is queued', () => cluster.queued.size === 1);
  await until(
    'it is stored',
    () => readState(cluster.data)?.jobs.get('poll')?.lastDue !== undefined,
  );
  await worker.end();
  const due = Date.UTC(2026, 10, 25, 10, 0, 5);
  const [reaction] = cluster.queued.values();
  expect(reaction).toMatchObject({ kind: 'due', id: `due/poll/${due}`, name: 'poll', timeMs: due });
  expect(unpackMap(Buffer.from(reaction!.body)).get('fun')).toBe('test.true');
  expect(readState(cluster.data)?.jobs.get('poll')?.from).toBe(due);
});

test('a worker that dies between queue and state is followed by one that adds nothing', async () => {
  const cluster = new Cluster();
  const first = cluster.worker({ start: { function: 'test.true', hours: 1 } });
  // The start itself is stored; what it told is not.
  cluster.saves = 1;
  await until('the run at the start is queued', () => cluster.queued.size === 1);
  await first.end();
  cluster.saves = Infinity;
  cluster.nowMs += 12_000;
  const second = cluster.worker({ start: { function: 'test.true', hours: 1 } });
  await until('the second one has stored it', () => {
    return readState(cluster.data)?.jobs.get('start')?.lastDue !== undefined;
  });
  await second.end();
  expect([...cluster.queued.keys()]).toEqual([`due/start/${Date.UTC(2026, 10, 25, 10)}`]);
});

test('a full queue holds the schedule up, and then it goes on', async () => {
  const cluster = new Cluster();
  cluster.full = true;
  const worker = cluster.worker({ start: { function: 'test.true', hours: 1 } });
  await until('it is told', () => cluster.troubles.length > 0);
  expect(readState(cluster.data)?.jobs.get('start')?.startAt).toBeDefined();
  cluster.full = false;
  await until('it is queued', () => cluster.queued.size === 1);
  await worker.end();
  expect(cluster.troubles).toHaveLength(1);
});

test('what finds no room until it does not count any more is dropped and told', async () => {
  const cluster = new Cluster();
  cluster.full = true;
  const worker = cluster.worker(POLL);
  await until('the schedule is stored', () => readState(cluster.data) !== undefined);
  cluster.nowMs += 90_000;
  await until('it is dropped', () => cluster.counts.includes('dropped'));
  await worker.end();
  expect(cluster.queued.size).toBe(0);
  expect(cluster.troubles.some((text) => text.includes('the queue is full: poll'))).toBe(true);
});

test('what operators ask for is heeded', async () => {
  const cluster = new Cluster();
  const worker = cluster.worker({ off: { function: 'test.true', hours: 1, run_on_start: false } });
  await until('the schedule is stored', () => readState(cluster.data) !== undefined);
  const at = (cluster.nowMs += 1_000);
  cluster.asked = { jobs: new Map([['off', { runs: [at], skips: [] }]]) };
  await until('it is queued', () => cluster.queued.has(`due/off/${at}`));
  await worker.end();
});

test('a worker of another time zone says so', async () => {
  const cluster = new Cluster();
  cluster.data = new Map([['zone', 'Europe/Berlin']]);
  const worker = cluster.worker(POLL);
  await until('it is told', () => cluster.troubles.length > 0);
  await worker.end();
  expect(cluster.troubles[0]).toContain('Europe/Berlin');
});
