import { ReactionQueue, reactionsWaiting } from '@brine/bus/reactions';
import { startNats, type TestNats } from '@brine/testing';
import { Gate, until, workTakes } from '@brine/testing/waits';
import { mapOf, pack } from '@brine/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type QueuedWork, QueueWork, type WorkEnd } from './queue-work.ts';

let nats: TestNats;
const open: QueueWork[] = [];
const helds: HeldWork[] = [];

beforeEach(async () => {
  nats = await startNats();
});
afterEach(async () => {
  for (const held of helds.splice(0)) held.endAll();
  await Promise.all(open.splice(0).map((work) => work.close()));
  await nats.close();
});

async function worker(atOnce: number, work: (work: QueuedWork) => Promise<WorkEnd>) {
  const troubles: unknown[] = [];
  const bus = await nats.connect('runner-pool');
  const made = new QueueWork({
    bus,
    kind: 'event',
    atOnce,
    work,
    onTrouble: (text, err) => void troubles.push([text, err]),
  });
  open.push(made);
  return { work: made, bus, troubles };
}

async function add(count: number): Promise<void> {
  const queue = new ReactionQueue(await nats.connect('runner-pool'));
  for (let n = 0; n < count; n += 1) {
    const body = pack(mapOf({ n }));
    await queue.add({ kind: 'event', id: `event/E/${n}.0`, name: `t/${n}`, body, timeMs: 1 });
  }
}

/** Work that ends when the test says so. */
class HeldWork {
  begun = 0;
  /** Most that were at work at one time. */
  most = 0;
  readonly #ends: (() => void)[] = [];
  #isOver = false;

  constructor() {
    helds.push(this);
  }

  get atWork(): number {
    return this.#ends.length;
  }

  readonly work = (): Promise<WorkEnd> => {
    this.begun += 1;
    if (this.#isOver) return Promise.resolve('over');
    return new Promise((resolve) => {
      this.#ends.push(() => resolve('over'));
      this.most = Math.max(this.most, this.atWork);
    });
  };

  endOne(): void {
    this.#ends.shift()?.();
  }

  /** After the test, also after one that failed. */
  endAll(): void {
    this.#isOver = true;
    for (const end of this.#ends.splice(0)) end();
  }
}

test('no more are at work than may be, and all are done once', async () => {
  const seen: unknown[] = [];
  let [running, most] = [0, 0];
  const areThree = new Gate();
  const { work, bus } = await worker(3, async ({ data }) => {
    running += 1;
    most = Math.max(most, running);
    if (running === 3) areThree.open();
    await areThree.opened;
    await workTakes(5);
    seen.push(data.get('n'));
    running -= 1;
    return 'over';
  });
  await add(40);
  await until('the queue is empty', async () => (await reactionsWaiting(bus)) === 0);
  expect(most).toBe(3);
  expect(new Set(seen).size).toBe(40);
  expect(seen).toHaveLength(40);
  expect(work.running).toBe(0);
});

test('a worker with more urgent work is at one reaction at a time', async () => {
  let isBusy = true;
  const held = new HeldWork();
  const bus = await nats.connect('runner-pool');
  const work = new QueueWork({
    bus,
    kind: 'event',
    atOnce: 3,
    onTrouble: () => undefined,
    isBusy: () => isBusy,
    work: held.work,
  });
  open.push(work);
  await add(6);
  // The next begins when one ends: had the queue given more at once, they would be at work by then.
  for (let next = 1; next <= 3; next += 1) {
    await until(`reaction ${next} is at work`, () => held.begun >= next);
    if (next < 3) held.endOne();
  }
  expect(held.most).toBe(1);
  isBusy = false;
  // The one that runs may run for an hour yet.
  await until('three are at work', () => work.running === 3);
  for (let done = 2; done < 6; done += 1) {
    await until('some work has begun', () => held.atWork > 0);
    held.endOne();
  }
  await until('the queue is empty', async () => (await reactionsWaiting(bus)) === 0);
});

test('what only waits takes no place of others, up to nine for each place', async () => {
  let waiting = 0;
  const held = new HeldWork();
  const bus = await nats.connect('runner-pool');
  const work = new QueueWork({
    bus,
    kind: 'event',
    atOnce: 2,
    onTrouble: () => undefined,
    waiting: () => waiting,
    work: held.work,
  });
  open.push(work);
  await add(25);
  await until('two are at work', () => work.running === 2);
  waiting = 2;
  await until('two more are at work', () => work.running === 4);
  waiting = 25;
  await until('twenty are at work', () => work.running === 20);
  // The next begins when one ends: had there been place for more, they would be at work by then.
  held.endOne();
  await until('one more has begun', () => held.begun > 20);
  expect(held.most).toBe(20);
  for (let done = 1; done < 25; done += 1) {
    await until('some work has begun', () => held.atWork > 0);
    held.endOne();
  }
  await until('the queue is empty', async () => (await reactionsWaiting(bus)) === 0);
});

test('work that rejects comes again, and is told', async () => {
  let tries = 0;
  const { bus, troubles } = await worker(1, async () => {
    tries += 1;
    if (tries === 1) throw new Error('no bucket');
    return 'over';
  });
  await add(1);
  await until('it is done', async () => (await reactionsWaiting(bus)) === 0, { withinMs: 20_000 });
  expect(tries).toBe(2);
  const text = 'reaction event/E/0.0 could not be worked on';
  expect(troubles).toEqual([[text, expect.objectContaining({ message: 'no bucket' })]]);
});

test('a worker that leaves ends what it has and takes no more', async () => {
  let end: (how: WorkEnd) => void = () => undefined;
  const taken: string[] = [];
  const first = await worker(1, async ({ id }) => {
    taken.push(id);
    return new Promise((resolve) => (end = resolve));
  });
  await add(5);
  await until('one is at work', () => taken.length === 1);
  let hasLeft = false;
  const leaving = first.work.leave().then(() => (hasLeft = true));
  const others: string[] = [];
  const second = await worker(2, async ({ id }) => {
    others.push(id);
    return 'over';
  });
  await until('the others are done elsewhere', () => others.length === 4);
  expect(hasLeft).toBe(false);
  end('over');
  await leaving;
  await until('the queue is empty', async () => (await reactionsWaiting(second.bus)) === 0);
  expect(taken).toHaveLength(1);
});

test('a body that is no map is an event without data', async () => {
  const data: unknown[] = [];
  const { bus } = await worker(1, async (work) => {
    data.push(work.data);
    return 'over';
  });
  const queue = new ReactionQueue(bus);
  const about = { kind: 'event', name: 't', timeMs: 1 } as const;
  await queue.add({ ...about, id: 'event/E/1.0', body: Buffer.from([0xc1, 0, 0]) });
  await queue.add({ ...about, id: 'event/E/2.0', body: pack([1, 2]) });
  await until('both are done', () => data.length === 2);
  expect(data).toEqual([mapOf({}), mapOf({})]);
});
