import { JidMaker } from '@brine/job';
import type { JobRow, ReturnRow, SightingRow } from '@brine/job-cache';
import { JobCache } from '@brine/job-cache';
import type { TestDatabase } from '@brine/testing';
import { endPool, jobRow, makeDatabase, returnLoad, returnRow } from '@brine/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Random } from './random.ts';
import { SimStore } from './store.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A cluster is made first; that takes a busy machine a while. */
const START_MS = 300_000;

let database: TestDatabase;
let cache: JobCache;
let pool: pg.Pool;

beforeAll(async () => {
  database = await makeDatabase();
  cache = await JobCache.connect(database.url);
  pool = new pg.Pool({ connectionString: database.url, max: 1 });
}, START_MS);

afterAll(async () => {
  await cache.close();
  await endPool(pool);
  await database.drop();
});

type Step =
  | { readonly kind: 'job'; readonly row: JobRow }
  | { readonly kind: 'return'; readonly row: ReturnRow }
  | { readonly kind: 'sighting'; readonly row: SightingRow };

const ROUNDS = 60;
const MINIONS = ['m1', 'm2', 'm3', 'm4'];
const MINUTE_MS = 60_000;

test('the simulated store judges as PostgreSQL does, whatever the order', async () => {
  const jids = new JidMaker();
  let counted = 0;
  for (let round = 1; round <= ROUNDS; round += 1) {
    const random = new Random(round);
    const jid = jids.next(Date.now());
    const steps = drawSteps(random, jid);
    const simulated = new SimStore(realTime(), random.fork());
    await storeAll(cache, shuffled(random, steps));
    await storeAll(simulated.connect().cache, shuffled(random, steps));
    counted += simulated.counted;
    const ledger = (await cache.getJob(jid))?.ledger;
    const { targeted, waiting, returned, failed, late, never } = simulated.ledger(jid);
    const told = `round ${round}: ${JSON.stringify(steps.map(shown))}`;
    expect({ targeted, waiting, returned, failed, late, never }, told).toEqual({
      targeted: ledger?.targeted,
      waiting: ledger?.waiting,
      returned: ledger?.returned,
      failed: ledger?.failed,
      late: ledger?.late,
      never: ledger?.never,
    });
    expect(await countedReturns(), told).toBe(counted);
  }
});

/** What the metrics tell of all rounds. */
async function countedReturns(): Promise<number> {
  const text = `SELECT coalesce(sum(value), 0)::integer AS count FROM brine.counters
    WHERE metric IN ('returns', 'scheduled')`;
  return (await pool.query<{ count: number }>(text)).rows[0]?.count ?? 0;
}

/** A job in one or two parts, returns that are sent again or differ, answers to find_job. */
function drawSteps(random: Random, jid: string): Step[] {
  const publishedAt = Date.now() - random.between(100, 200) * MINUTE_MS;
  // Long over, or far from it: both stores look at their clocks at different moments.
  const deadlineAt = publishedAt + random.pick([50, 90, 300]) * MINUTE_MS;
  const steps: Step[] = [];
  for (let part = 1; part <= random.between(1, 2); part += 1) {
    const minions = MINIONS.filter(() => random.chance(0.6));
    const row = jobRow(jid, { minions, publishedAt, deadlineAt, seq: part });
    steps.push({ kind: 'job', row });
  }
  for (let seq = 10; seq < 10 + random.between(0, 6); seq += 1) {
    const receivedAt = publishedAt + random.between(0, 99) * MINUTE_MS;
    const id = random.pick(MINIONS);
    const said = random.pick(['one', 'other']);
    const load = returnLoad(jid, id, said, { success: said === 'one' || random.chance(0.5) });
    const row = returnRow(jid, id, said, { seq, receivedAt, load });
    steps.push({ kind: 'return', row });
    if (random.chance(0.3)) steps.push({ kind: 'return', row });
  }
  for (let count = random.between(0, 2); count > 0; count -= 1) {
    // Half a minute off, so that no deadline that it makes is just now.
    const at = publishedAt + (random.between(1, 99) + 0.5) * MINUTE_MS;
    const kind = random.pick(['running', 'running', 'not_running'] as const);
    steps.push({ kind: 'sighting', row: { jid, ids: [random.pick(MINIONS)], kind, at } });
  }
  return steps;
}

/** Rows of one kind that follow each other are stored together. */
async function storeAll(store: JobCache, steps: readonly Step[]): Promise<void> {
  for (let at = 0; at < steps.length;) {
    const kind = steps[at]?.kind;
    const end = steps.findIndex((step, index) => index > at && step.kind !== kind);
    const run = steps.slice(at, end === -1 ? undefined : end);
    await store.saveJobs(run.flatMap((step) => (step.kind === 'job' ? [step.row] : [])));
    await store.saveReturns(run.flatMap((step) => (step.kind === 'return' ? [step.row] : [])));
    await store.saveSightings(run.flatMap((step) => (step.kind === 'sighting' ? [step.row] : [])));
    at += run.length;
  }
}

function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const drawn = items.map((item) => ({ item, place: random.next() }));
  return drawn.sort((a, b) => a.place - b.place).map(({ item }) => item);
}

function shown(step: Step): unknown {
  const { kind, row } = step;
  if (kind !== 'job') return { kind, ...row, load: undefined };
  const { minions, publishedAt, deadlineAt, seq } = row;
  return { kind, minions, publishedAt, deadlineAt, seq };
}

/** The store's own time is that of this machine here, and it takes none. */
function realTime(): VirtualTime {
  const time = { sleep: () => Promise.resolve(), wall: Date.now() };
  return time as unknown as VirtualTime;
}
