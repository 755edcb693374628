import { isJid, type Jid, type Job, jobReturnTag } from '@brine/job';
import { startNats, type TestNats } from '@brine/testing';
import { sized } from '@brine/testing/circle';
import { type NatsCluster, startNatsCluster } from '@brine/testing/nodes';
import { loadPauses, until } from '@brine/testing/waits';
import { mapOf, pack } from '@brine/wire';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Bus, connectBus } from '../connection/connect.ts';
import { EventWriter } from '../events/event-writer.ts';
import { PublicationWriter } from '../jobs/publication-writer.ts';
import { directGet } from '../streams/direct-get.ts';
import { ensureStreams } from '../streams/ensure-streams.ts';
import { STREAMS } from '../subjects/names.ts';
import { parsePosition } from './position.ts';
import { type BusEvent, Timeline } from './timeline.ts';

/** Events of the first test. */
const USUAL = sized({ change: 100_000, release: 1_000_000 });
const EVENTS = Number(process.env['BRINE_REPLAY_EVENTS'] ?? USUAL);
const RETURNS_OF_A_JOB = 1_000;

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

/** Stores a job and its returns; every tag that is acknowledged goes into the log. */
async function storeJob(bus: Bus, n: number, returns: number, log: (tag: string) => void) {
  const jid = jidOf(n);
  const events = new EventWriter(bus, { timeoutMs: 60_000 });
  await new PublicationWriter(bus, { timeoutMs: 60_000 }).appendJob(jobOf(jid));
  for (const step of ['new', 'publish']) log(`salt/job/${jid}/${step}`);
  const body = pack(mapOf({ jid, return: 'x'.repeat(100), retcode: 0, success: true }));
  const each = async (id: number): Promise<void> => {
    const minion = `m${id}.example.com`;
    const tag = jobReturnTag(jid, minion);
    await events.append({ kind: 'ret', tag, jid, minion, body });
    log(tag);
  };
  await Promise.all(Array.from({ length: returns }, (_, id) => each(id)));
}

describe('a stream of a million events', () => {
  let nats: TestNats;
  let bus: Bus;
  /** Of each job, when its storing began. */
  const begun: number[] = [];
  let stored = 0;

  beforeAll(async () => {
    nats = await startNats();
    bus = await nats.connect('worker-pool');
    const jobs = EVENTS / (RETURNS_OF_A_JOB + 2);
    for (let n = 0; n < jobs; n += 1) {
      begun.push(Date.now());
      await storeJob(bus, n, RETURNS_OF_A_JOB, () => (stored += 1));
    }
  }, 600_000);
  afterAll(() => nats.close());

  test.each([0.1, 0.5, 0.9])('is replayed from a time, %d of the way, at once', async (part) => {
    const job = Math.floor(begun.length * part);
    const took: number[] = [];
    // The quickest of some: other work on the machine is not what is measured.
    for (let n = 0; n < 5; n += 1) {
      const startedAt = performance.now();
      const timeline = await Timeline.open(bus, { from: { timeMs: begun[job] ?? 0 } });
      const [first] = await timeline.take(1, 10_000);
      took.push(performance.now() - startedAt);
      // The last returns of the job before it may have the same millisecond.
      expect(first?.timeMs).toBeGreaterThanOrEqual(begun[job] ?? Infinity);
      expect(timeline.takeNotices()).toEqual([]);
      timeline.close();
    }
    const shown = took.map((ms) => ms.toFixed(0)).join(', ');
    process.stdout.write(`first of ${stored} events from ${part}: ${shown} ms\n`);
  });

  test('finds rare events at once where the server can tell them by their kind', async () => {
    const events = new EventWriter(bus);
    await events.append({ kind: 'key', tag: 'salt/key', body: pack(mapOf({ id: 'late' })) });
    const startedAt = performance.now();
    const timeline = await Timeline.open(bus, { from: 'oldest', kinds: ['key'], jobs: false });
    const [found] = await timeline.take(1, 10_000);
    expect(found?.tag).toBe('salt/key');
    const tookMs = performance.now() - startedAt;
    process.stdout.write(`a rare event of ${stored}: ${tookMs.toFixed(0)} ms\n`);
    timeline.close();
  });

  test('is read from its beginning without a gap, none twice, in bounded memory', async () => {
    const timeline = await Timeline.open(bus, { from: 'oldest', kinds: ['ret', 'job'] });
    const startedAt = performance.now();
    const before = process.memoryUsage().rss;
    let [count, most] = [0, 0];
    const perJob = new Map<string, number>();
    while (count < stored) {
      const some = await timeline.take(1_000, 30_000);
      if (some.length === 0) break;
      count += some.length;
      for (const { tag, jid = '' } of some) {
        const seen = perJob.get(jid) ?? 0;
        // `new` and `publish` come before all returns of their job.
        if (seen < 2) expect(tag).toMatch(seen === 0 ? /\/new$/ : /\/publish$/);
        perJob.set(jid, seen + 1);
      }
      most = Math.max(most, process.memoryUsage().rss - before);
    }
    const seconds = (performance.now() - startedAt) / 1_000;
    const mib = Math.round(most / 1_048_576);
    process.stdout.write(`${Math.round(count / seconds)} events/s, ${mib} MiB more\n`);
    expect(count).toBe(stored);
    expect(perJob.size).toBe(begun.length);
    expect([...perJob.values()].every((seen) => seen === RETURNS_OF_A_JOB + 2)).toBe(true);
    expect(mib).toBeLessThan(500);
    timeline.close();
  }, 300_000);
});

describe('one of three NATS servers is lost after the other', () => {
  let cluster: NatsCluster;
  const buses: Bus[] = [];
  const connect = async (name: 'event-bus' | 'worker-pool'): Promise<Bus> => {
    const { url, certificates } = cluster;
    const bus = await connectBus({ url, name, certificates, connectTimeoutMs: 30_000 });
    buses.push(bus);
    return bus;
  };

  beforeAll(async () => {
    cluster = await startNatsCluster();
    await ensureStreams(await connect('event-bus'), { totalBytes: 1024 ** 3, replicas: 3 });
  }, 600_000);
  afterAll(async () => {
    await Promise.all(buses.map((bus) => bus.close()));
    await cluster.close();
  });

  test('followers get every event once, whether they stay connected or come back', async () => {
    const [writing, staying, returning] = await Promise.all([
      connect('worker-pool'),
      connect('worker-pool'),
      connect('worker-pool'),
    ]);
    const wanted = new Set<string>();
    const fault = { over: false };
    const writer = (async () => {
      for (let n = 0; !fault.over; n += 1) {
        await storeJob(writing, n, 50, (tag) => wanted.add(tag));
        await loadPauses(20);
      }
    })();
    const live = await Timeline.open(staying, { from: 'oldest' });
    const followed: Seen[] = [];
    const replayed: Seen[] = [];
    const done = { reading: false };
    const stays = (async () => {
      while (!done.reading) followed.push(...(await live.take(500, 500)).map(seen));
    })();
    const comesBack = (async () => {
      let from: { position: string } | 'oldest' = 'oldest';
      while (!done.reading) {
        const page = await pageOf(returning, from);
        if (page === undefined) continue;
        replayed.push(...page.events);
        from = { position: page.next };
      }
    })();
    for (const node of cluster.nodes) {
      await loadPauses(3_000);
      await node.kill();
      await loadPauses(3_000);
      await node.start();
    }
    fault.over = true;
    await writer;
    const tagsOf = (events: readonly Seen[]): Set<string> => new Set(events.map(({ tag }) => tag));
    const isComplete = (events: readonly Seen[]): boolean => tagsOf(events).size >= wanted.size;
    await until('both have all', () => isComplete(followed) && isComplete(replayed), {
      withinMs: 60_000,
    });
    done.reading = true;
    await Promise.all([stays, comesBack]);
    live.close();
    for (const events of [followed, replayed]) {
      expect(new Set(events.map(({ at }) => at)).size).toBe(events.length);
      expect(tagsOf(events)).toEqual(wanted);
    }
    const known = new Set<string>();
    const twice = followed.filter(({ tag }) => known.size === known.add(tag).size);
    process.stdout.write(
      `${wanted.size} events over three lost servers, ${twice.length} stored twice\n`,
    );
    for (const { tag } of twice) await isTheSameMessage(staying, followed, tag);
  }, 300_000);
});

/** An event, and its place in its stream. */
interface Seen {
  readonly tag: string;
  readonly stream: string;
  readonly seq: number;
  readonly at: string;
}

function seen({ tag, position }: BusEvent): Seen {
  const { events, publications } = parsePosition(position);
  const isOfJob = /\/(?:new|publish)$/.test(tag);
  const { seq, index } = isOfJob ? publications : events;
  const stream = isOfJob ? STREAMS.publications : STREAMS.events;
  return { tag, stream, seq, at: `${stream} ${seq} ${index ?? ''}` };
}

/** Only the server may give an event twice: it stored one message again that has its id. */
async function isTheSameMessage(bus: Bus, events: readonly Seen[], tag: string): Promise<void> {
  const ids = new Set<string>();
  for (const { stream, seq } of events.filter((one) => one.tag === tag)) {
    ids.add((await directGet(bus, stream, { seq }))?.header('Nats-Msg-Id') ?? '');
  }
  expect([tag, [...ids]]).toEqual([tag, [expect.stringMatching(/./)]]);
}

/** Some events from a position, by a reader that is opened for them alone. */
async function pageOf(bus: Bus, from: { position: string } | 'oldest') {
  let timeline: Timeline | undefined;
  try {
    timeline = await Timeline.open(bus, { from, readAhead: 32 });
    const events = (await timeline.take(200, 1_000)).map(seen);
    return { events, next: timeline.position };
  } catch {
    // A server is away; the same page is asked for again.
    await loadPauses(100);
    return undefined;
  } finally {
    timeline?.close();
  }
}
