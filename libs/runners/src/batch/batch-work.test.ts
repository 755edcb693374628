import { isMap, mapIn, mapOf, type SaltMap, textOf } from '@brine/wire';
import { describe, expect, it, test } from 'vitest';
import { type OwnedRun, RunReleasedError } from '../owned-run.ts';
import { type BatchSettings, settingsMap } from './batch-plan.ts';
import { type BatchNews, type BatchPorts, BatchRefusedError, workBatch } from './batch-work.ts';

const JID = '20261126120000123456';
const START = Date.UTC(2026, 10, 26, 12);
const SETTINGS: BatchSettings = {
  size: '2',
  waitMs: 0,
  failhard: false,
  timeoutMs: 5_000,
  gatherMs: 2_000,
};

/** A minion: how long it runs, and what becomes of it. */
interface Minion {
  readonly runsMs?: number;
  readonly retcode?: number;
  readonly never?: boolean;
}

/** A master, its minions and its clock, which outlive each process. */
class World {
  now = START;
  readonly minions: ReadonlyMap<string, Minion>;
  readonly fired: { readonly tag: string; readonly n: number; readonly data: SaltMap }[] = [];
  /** How often each minion ran the job. */
  readonly runs = new Map<string, number>();
  most = 0;
  asked: string[] = [];
  ended: SaltMap | undefined;
  refuses = false;
  /** Sizes of batches that were said to have no state file. */
  readonly withoutFile: number[] = [];
  record: { owner: number; data: SaltMap; input: SaltMap };
  readonly #flying = new Set<string>();
  readonly #published = new Set<string>();
  readonly #log: { readonly atMs: number; readonly news: BatchNews }[] = [];
  readonly #listeners = new Set<(news: BatchNews) => void>();
  #timers: { readonly atMs: number; readonly run: () => void }[] = [];
  readonly words: SaltMap[] = [];
  onMessage: ((message: SaltMap) => void) | undefined;

  constructor(minions: Readonly<Record<string, Minion>>, settings: Partial<BatchSettings> = {}) {
    this.minions = new Map(Object.entries(minions));
    const load = mapOf({ fun: 'test.ping', tgt: '*', tgt_type: 'glob', user: 'root', arg: [] });
    const input = mapOf({ load, settings: settingsMap({ ...SETTINGS, ...settings }) });
    this.record = { owner: 0, data: mapOf({}), input };
  }

  at(atMs: number, run: () => void): () => void {
    const timer = { atMs, run };
    this.#timers.push(timer);
    return () => (this.#timers = this.#timers.filter((one) => one !== timer));
  }

  /** Lets time go by until nothing is left to happen, or for so long. */
  async goOn(forMs = 600_000): Promise<void> {
    const untilMs = this.now + forMs;
    for (;;) {
      await settled();
      const next = this.#timers.reduce(
        (first, timer) => (timer.atMs < (first?.atMs ?? Infinity) ? timer : first),
        undefined as { readonly atMs: number; readonly run: () => void } | undefined,
      );
      if (next === undefined || next.atMs > untilMs) return;
      this.#timers = this.#timers.filter((one) => one !== next);
      this.now = Math.max(this.now, next.atMs);
      next.run();
    }
  }

  publish(ids: readonly string[]): readonly string[] {
    if (this.refuses) throw new BatchRefusedError('Authorization error occurred.');
    const key = ids.join();
    if (this.#published.has(key)) return ids;
    this.#published.add(key);
    for (const id of ids) {
      const { runsMs = 100, retcode = 0, never = false } = this.minions.get(id) ?? {};
      this.runs.set(id, (this.runs.get(id) ?? 0) + 1);
      if (never) continue;
      this.#flying.add(id);
      this.most = Math.max(this.most, this.#flying.size);
      this.at(this.now + runsMs, () => {
        this.#flying.delete(id);
        this.tell({ kind: 'return', id, retcode });
      });
    }
    return ids;
  }

  findJob(ids: readonly string[]): void {
    this.asked.push(...ids);
    for (const id of ids) {
      if (this.#flying.has(id)) this.at(this.now + 10, () => this.tell({ kind: 'runs', id }));
    }
  }

  tell(news: BatchNews): void {
    this.#log.push({ atMs: this.now, news });
    for (const listener of this.#listeners) listener(news);
  }

  leave(message: SaltMap): void {
    this.words.push(message);
    this.onMessage?.(message);
  }

  listen(sinceMs: number, onNews: (news: BatchNews) => void): { close(): void } {
    for (const { atMs, news } of this.#log) if (atMs >= sinceMs) onNews(news);
    this.#listeners.add(onNews);
    return { close: () => void this.#listeners.delete(onNews) };
  }

  returned(ids: readonly string[]): ReadonlyMap<string, number> {
    const found = new Map<string, number>();
    for (const { news } of this.#log) {
      if (news.kind === 'return' && ids.includes(news.id)) found.set(news.id, news.retcode);
    }
    return found;
  }

  get seen(): string[] {
    return this.fired.map(({ tag }) => tag);
  }
}

/** Lets all promises that can settle do so. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Dies at a step: it does nothing more. `after`: the step itself is still done. */
interface Death {
  readonly step: number;
  readonly after: boolean;
}

/** A process that has the batch of a world. Give `death` and it stops in the middle. */
class Worker {
  steps = 0;
  readonly done: Promise<void>;
  readonly #world: World;
  readonly #death: Death | undefined;
  readonly #released = new AbortController();
  readonly #me: number;

  constructor(world: World, death?: Death) {
    this.#world = world;
    this.#death = death;
    this.#me = world.record.owner += 1;
    this.done = workBatch(this.#run(), this.#ports());
    this.done.catch(() => undefined);
  }

  lose(): void {
    this.#released.abort(new RunReleasedError(JID));
  }

  /** One step that others see. A dead process's never ends. */
  async #step<T>(act: () => T): Promise<T> {
    this.steps += 1;
    const { step = Infinity, after = false } = this.#death ?? {};
    const isDead = this.steps > step || (this.steps === step && !after);
    const result = isDead ? undefined : act();
    if (this.steps >= step) return new Promise<never>(() => undefined);
    return result as T;
  }

  #run(): OwnedRun {
    const world = this.#world;
    const { record } = world;
    const check = (): void => {
      if (record.owner !== this.#me) throw new RunReleasedError(JID);
      if (this.#released.signal.aborted) throw new RunReleasedError(JID);
    };
    return {
      jid: JID,
      get data() {
        return record.data;
      },
      get input() {
        return record.input;
      },
      released: this.#released.signal,
      check,
      save: (data) =>
        this.#step(() => {
          check();
          record.data = data;
        }),
      saveInput: (input, data) =>
        this.#step(() => {
          check();
          Object.assign(record, { input, data });
        }),
      onMessage: (handler) => {
        world.onMessage = handler;
        for (const message of world.words) handler(message);
      },
      end: (last) => this.#step(() => void (world.ended = last)),
    };
  }

  #ports(): BatchPorts {
    const world = this.#world;
    return {
      now: () => world.now,
      sleep: (wakeMs) => {
        let wake: () => void = () => undefined;
        const done = new Promise<void>((resolve) => (wake = resolve));
        const cancel = wakeMs === Infinity ? undefined : world.at(wakeMs, wake);
        return { done, wake: () => (cancel?.(), wake()) };
      },
      ping: () => this.#step(() => ({ up: [...world.minions.keys()], down: ['dead'] })),
      publish: (ids) => this.#step(() => world.publish(ids)),
      findJob: (ids) => this.#step(() => world.findJob(ids)),
      listen: (sinceMs, onNews) => this.#step(() => world.listen(sinceMs, onNews)),
      returned: (ids) => this.#step(() => world.returned(ids)),
      publishedTo: (ids) => this.#step(() => new Set(ids.filter((id) => world.runs.has(id)))),
      fire: (suffix, n, data) =>
        this.#step(() => {
          const tag = `salt/batch/${JID}/${suffix}`;
          const isThere = world.fired.some((one) => one.tag === tag && one.n === n);
          if (!isThere) world.fired.push({ tag, n, data });
        }),
      withoutFile: (minions) => void world.withoutFile.push(minions),
      note: () => undefined,
    };
  }
}

function named(count: number, minion: (index: number) => Minion = () => ({})) {
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`m${index}`, minion(index)]),
  );
}

function expectEachOnce(world: World, width: number): void {
  expect([...world.runs.values()].every((runs) => runs === 1)).toBe(true);
  expect(world.runs.size).toBe(world.minions.size);
  expect(world.most).toBeLessThanOrEqual(width);
}

/** What a reader of the events learns: who began and who came back, each once. */
function story(world: World) {
  const began: string[] = [];
  const back: string[] = [];
  for (const { tag, data } of world.fired) {
    if (!tag.endsWith('/progress')) continue;
    const brine = mapIn(data, 'brine') ?? mapOf({});
    began.push(...(brine.get('dispatched') as string[]));
    back.push(...(brine.get('finished') as string[]));
  }
  return { began, back };
}

test('a batch runs each minion once, never wider than it is, and tells of it', async () => {
  const world = new World(named(7, (index) => ({ runsMs: 100 + index * 37 })));
  const worker = new Worker(world);
  await world.goOn();
  await worker.done;
  expectEachOnce(world, 2);
  expect(world.seen[0]).toBe(`salt/batch/${JID}/new`);
  expect(world.seen.at(-1)).toBe(`salt/batch/${JID}/complete`);
  expect(story(world).began).toEqual([...world.minions.keys()]);
  expect(world.ended && Object.fromEntries(world.ended)).toMatchObject({
    total: 7,
    completed: 7,
    active: 0,
    pending: 0,
    failed: 0,
    halted: false,
  });
});

describe('a worker that dies', () => {
  const make = (): World => new World(named(5, (index) => ({ runsMs: 90 + index * 40 })));

  it('at any step leaves a batch that another one ends: each minion runs once', async () => {
    const whole = make();
    const first = new Worker(whole);
    await whole.goOn();
    expect(first.steps).toBeGreaterThan(15);
    for (let step = 1; step <= first.steps; step += 1) {
      for (const after of [false, true]) {
        const world = make();
        new Worker(world, { step, after });
        // Minions go on meanwhile, and some return while no process listens.
        await world.goOn(12_000);
        if (world.ended !== undefined) continue;
        const next = new Worker(world);
        await world.goOn();
        await next.done;
        expectEachOnce(world, 2);
        expect(story(world).back.sort(), `killed at step ${step}`).toEqual(
          [...world.minions.keys()].sort(),
        );
      }
    }
  });

  it('again and again changes nothing', async () => {
    const world = make();
    for (let turn = 0; world.ended === undefined; turn += 1) {
      expect(turn).toBeLessThan(100);
      const worker = new Worker(world, { step: 8, after: turn % 2 === 0 });
      await world.goOn(12_000);
      void worker;
    }
    expectEachOnce(world, 2);
  });

  it('long ago has published what the job cache says, and it is not published again', async () => {
    const world = make();
    const whole = make();
    const counting = new Worker(whole);
    await whole.goOn();
    void counting;
    // The last save of a part is what it dies before: the part is out, and not known to be.
    new Worker(world, { step: 6, after: true });
    await world.goOn(600_000);
    world.now += 600_000;
    const next = new Worker(world);
    await world.goOn();
    await next.done;
    expectEachOnce(world, 2);
  });
});

test('a run that is taken away ends the work at once', async () => {
  const world = new World(named(5, () => ({ runsMs: 1_000 })));
  const worker = new Worker(world);
  await world.goOn(500);
  worker.lose();
  await expect(worker.done).rejects.toThrow(RunReleasedError);
  expect(world.runs.size).toBe(2);
});

test('failhard ends the batch after the return, and tells what was abandoned', async () => {
  const world = new World(
    named(5, (index) => ({ retcode: index === 0 ? 3 : 0, runsMs: 100 + index * 50 })),
    { failhard: true },
  );
  const worker = new Worker(world);
  await world.goOn();
  await worker.done;
  const halted = world.fired.at(-1);
  expect(halted?.tag).toBe(`salt/batch/${JID}/halted`);
  expect(halted && Object.fromEntries(halted.data)).toMatchObject({
    reason: 'failhard',
    completed: 1,
    abandoned_active: ['m1'],
    abandoned_pending: ['m2', 'm3', 'm4'],
  });
});

test.each([
  ['a minion dies in the first part', { m0: { never: true }, m1: { retcode: 2 }, m2: {} }, 'm2'],
  ['its last part never returns', { m0: {}, m1: {}, m2: { never: true } }, undefined],
  ['no minion returns', { m0: { never: true }, m1: { never: true } }, undefined],
])('a batch with failhard ends where %s', async (_when, minions, spared) => {
  const world = new World(minions, { failhard: true, size: '1' });
  const worker = new Worker(world);
  await world.goOn(120_000);
  expect(world.ended).toBeDefined();
  await worker.done;
  expect(world.fired.at(-1)?.tag).toBe(
    `salt/batch/${JID}/${spared === undefined ? 'complete' : 'halted'}`,
  );
  if (spared !== undefined) expect(world.runs.has(spared)).toBe(false);
});

test('a minion that runs long is asked and waited for, and a dead one is not', async () => {
  const world = new World({ slow: { runsMs: 20_000 }, dead: { never: true }, next: {} });
  const worker = new Worker(world);
  await world.goOn();
  await worker.done;
  expect(world.asked).toContain('slow');
  expect(world.ended?.get('completed')).toBe(2);
  expect(world.ended?.get('failed')).toBe(1);
  expect(mapIn(world.ended ?? mapOf({}), 'plan')?.get('silent')).toEqual(['dead']);
});

test('a batch that has too many minions for a state file says so once', async () => {
  const small = new World(named(2_000), { size: '2000' });
  const large = new World(named(2_001), { size: '2001' });
  for (const world of [small, large]) {
    new Worker(world, { step: 4, after: true });
    await world.goOn(50);
    const next = new Worker(world);
    await world.goOn();
    await next.done;
    expect(world.runs.size).toBe(world.minions.size);
    const files = world.fired.filter(({ data }) => data.has('state'));
    expect(files.length > 0).toBe(world === small);
  }
  expect(small.withoutFile).toEqual([]);
  expect(large.withoutFile).toEqual([2_001]);
});

describe('messages for the owner', () => {
  it('pause and resume a batch, also for the worker that takes it over', async () => {
    const world = new World(named(4, () => ({ runsMs: 1_000 })));
    new Worker(world, { step: 9, after: true });
    await world.goOn(100);
    world.leave(mapOf({ what: 'pause' }));
    const next = new Worker(world);
    await world.goOn(60_000);
    expect(world.runs.size).toBe(2);
    expect(world.record.data.get('paused')).toBe(true);
    world.leave(mapOf({ what: 'resume' }));
    await world.goOn();
    await next.done;
    expectEachOnce(world, 2);
  });

  it('stop a batch', async () => {
    const world = new World(named(4, () => ({ runsMs: 1_000 })));
    const worker = new Worker(world);
    await world.goOn(100);
    world.leave(mapOf({ what: 'stop' }));
    await world.goOn();
    await worker.done;
    expect(world.runs.size).toBe(2);
    expect(world.ended?.get('halted_reason')).toBe('stop');
  });
});

test('a caller that has lost its right ends the batch with the text of the refusal', async () => {
  const world = new World(named(4));
  world.refuses = true;
  const worker = new Worker(world);
  await world.goOn();
  await worker.done;
  expect(world.runs.size).toBe(0);
  const last = world.fired.at(-1)?.data;
  expect(last && textOf(last, 'reason')).toBe('Authorization error occurred.');
});

test('a batch without an order is refused', async () => {
  const world = new World(named(1));
  world.record.input = mapOf({});
  await expect(new Worker(world).done).rejects.toThrow('without its order');
  expect(isMap(world.record.data)).toBe(true);
});
