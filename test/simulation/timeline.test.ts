import { Bus, ensureStreams } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { PublicationWriter } from '@brine/bus/jobs';
import { Timeline } from '@brine/bus/timeline';
import { isJid, type Jid, type Job, jobReturnTag } from '@brine/job';
import { mapOf, pack } from '@brine/wire';
import { expect, test } from 'vitest';
import { SimNats } from './world/nats/server.ts';
import { Random } from './world/random.ts';
import { VirtualTime } from './world/virtual-time.ts';

/** Virtual time of a run, in ms, and when the last fault comes. */
const RUN_MS = 120_000;
const FAULTS_MS = 40_000;
const JOBS = 60;

function jidOf(n: number): Jid {
  const text = `20261126${String(n).padStart(12, '0')}`;
  if (!isJid(text)) throw new Error(text);
  return text;
}

function jobOf(jid: string): Job {
  return {
    jid,
    publication: pack(mapOf({ fun: 'test.ping', jid })),
    load: pack(mapOf({ arg: [] })),
    principal: 'root key',
    user: 'root',
    fun: 'test.ping',
    tgt: '*',
    tgtType: 'glob',
    minions: [],
    missing: [],
    publishedAt: 1,
    deadlineAt: 2,
    notAfter: 3,
    hidden: false,
    host: 'gw',
    requestId: `request ${jid}`,
  };
}

/** One run: what was stored, and what two kinds of readers got. */
class Run {
  readonly stored: string[] = [];
  readonly stayed: string[] = [];
  readonly paged: string[] = [];
  readonly notices: string[] = [];
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #nats: SimNats;
  #isStored = false;

  constructor(time: VirtualTime, random: Random) {
    this.#time = time;
    this.#random = random;
    this.#nats = new SimNats(time, random.fork());
  }

  async begin(): Promise<void> {
    await ensureStreams(this.#bus('event-bus'));
    void this.#write();
    void this.#stay();
    void this.#page();
    for (let n = 0; n < 4; n += 1) {
      this.#time.after(this.#random.between(1_000, FAULTS_MS), () => this.#nats.restart());
    }
  }

  isOver(): boolean {
    const all = this.stored.length;
    return this.#isStored && this.stayed.length >= all && this.paged.length >= all;
  }

  #bus(name: 'event-bus' | 'worker-pool'): Bus {
    const connection = this.#nats.connect(`${name}-${this.#random.between(0, 1e9)}`);
    return new Bus(connection.asClient, { url: '', name }, {});
  }

  async #write(): Promise<void> {
    const bus = this.#bus('worker-pool');
    const events = new EventWriter(bus, { timeoutMs: 60_000 });
    const jobs = new PublicationWriter(bus, { timeoutMs: 60_000 });
    for (let n = 0; n < JOBS; n += 1) {
      const jid = jidOf(n);
      await jobs.appendJob(jobOf(jid));
      this.stored.push(`salt/job/${jid}/new`, `salt/job/${jid}/publish`);
      const returns = Array.from({ length: this.#random.between(0, 40) }, async (_, id) => {
        const minion = `m${id}`;
        const tag = jobReturnTag(jid, minion);
        await events.append({ kind: 'ret', tag, jid, minion, body: pack(mapOf({ id })) });
        this.stored.push(tag);
      });
      await events.append({ kind: 'audit', tag: 'audit', body: pack(mapOf({})), msgId: `a${n}` });
      await Promise.all(returns);
      const tag = `site/${n}`;
      await events.append({ kind: 'local', tag, body: pack(mapOf({ n })), msgId: tag });
      this.stored.push(tag);
      await this.#time.sleep(this.#random.between(1, 1_000));
    }
    this.#isStored = true;
  }

  /** A reader that never goes away. */
  async #stay(): Promise<void> {
    const timeline = await Timeline.open(this.#bus('worker-pool'), { from: 'oldest' });
    for await (const { tag } of timeline) this.stayed.push(tag);
  }

  /** A reader that begins anew for each few events. */
  async #page(): Promise<void> {
    const bus = this.#bus('worker-pool');
    let from: { position: string } | 'oldest' = 'oldest';
    for (;;) {
      let timeline: Timeline | undefined;
      try {
        timeline = await Timeline.open(bus, { from, readAhead: this.#random.between(1, 64) });
        const events = await timeline.take(this.#random.between(1, 30), 1_000);
        this.paged.push(...events.map(({ tag }) => tag));
        this.notices.push(...timeline.takeNotices().map(({ kind }) => kind));
        from = { position: timeline.position };
      } catch {
        // The server is away; the same is asked for again.
        await this.#time.sleep(200);
      } finally {
        timeline?.close();
      }
    }
  }
}

async function runOf(seed: number): Promise<Run> {
  const random = new Random(seed);
  const time = new VirtualTime(() => random.next());
  using _ = time.install();
  const run = new Run(time, random.fork());
  void run.begin();
  await time.run(RUN_MS, () => run.isOver());
  return run;
}

/** The first few events that a reader did not get, and those that it got more than once. */
function wrongIn(tags: readonly string[], stored: readonly string[]) {
  const seen = new Set(tags);
  const missing = stored.filter((tag) => !seen.has(tag)).slice(0, 3);
  const twice = tags.filter((tag) => !seen.delete(tag)).slice(0, 3);
  return { missing, twice };
}

test('whatever NATS does, readers get every event once, and each job before its returns', async () => {
  for (let seed = 1; seed <= 15; seed += 1) {
    const run = await runOf(seed);
    expect(run.stored.length, `seed ${seed}`).toBeGreaterThan(3 * JOBS);
    for (const tags of [run.stayed, run.paged]) {
      expect(wrongIn(tags, run.stored), `seed ${seed}`).toEqual({ missing: [], twice: [] });
      const seen = new Set<string>();
      for (const tag of tags) {
        const jid = tag.split('/')[2] ?? '';
        if (tag.endsWith('/new')) seen.add(jid);
        else if (tag.includes('/ret/')) expect(seen.has(jid), `seed ${seed}: ${tag}`).toBe(true);
      }
    }
    expect(run.notices, `seed ${seed}`).toEqual([]);
  }
}, 120_000);
