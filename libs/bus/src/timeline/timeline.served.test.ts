import { type Event, isJid, type Jid, type Job, jobReturnTag } from '@brine/job';
import { startNats, type TestNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapOf, pack, textOf, unpackMap } from '@brine/wire';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../connection/connect.ts';
import { askJetStream } from '../connection/js-api.ts';
import { EventWriter } from '../events/event-writer.ts';
import { PublicationWriter } from '../jobs/publication-writer.ts';
import { ensureStreams } from '../streams/ensure-streams.ts';
import { type BusEvent, Timeline, type TimelineOptions } from './timeline.ts';

let nats: TestNats;
let worker: Bus;

beforeAll(async () => {
  nats = await startNats();
  worker = await nats.connect('worker-pool');
}, 600_000);

afterAll(() => nats.close());

function jidOf(n: number): Jid {
  const text = `202611260300000${String(n).padStart(5, '0')}`;
  if (!isJid(text)) throw new Error(text);
  return text;
}

function jobOf(jid: string): Job {
  return {
    jid,
    publication: pack(mapOf({ fun: 'test.ping', jid })),
    load: pack(mapOf({ arg: [1] })),
    principal: 'root key',
    user: 'root',
    fun: 'test.ping',
    tgt: '*',
    tgtType: 'glob',
    minions: ['a'],
    missing: [],
    publishedAt: 1,
    deadlineAt: 2,
    notAfter: 3,
    hidden: false,
    host: 'gw',
    requestId: `request ${jid}`,
  };
}

function returned(jid: Jid, minion: string): Event {
  const body = pack(mapOf({ id: minion, jid, return: true }));
  return { kind: 'ret', tag: jobReturnTag(jid, minion), jid, minion, body };
}

/** A job with returns that share messages, and an event of a tool. Gives the tags in order. */
async function fill(bus: Bus, n: number, returns = 20): Promise<string[]> {
  const jid = jidOf(n);
  const events = new EventWriter(bus);
  await new PublicationWriter(bus).appendJob(jobOf(jid));
  const ids = Array.from({ length: returns }, (_, id) => `m${id}`);
  await Promise.all(ids.map((id) => events.append(returned(jid, id))));
  // One that no reader of the bus gets.
  await events.append({ kind: 'audit', tag: 'audit', body: pack(mapOf({})) });
  await events.append({ kind: 'local', tag: `site/${n}`, body: pack(mapOf({ n })) });
  const job = [`salt/job/${jid}/new`, `salt/job/${jid}/publish`];
  return [...job, ...ids.map((id) => jobReturnTag(jid, id)), `site/${n}`];
}

async function takeAll(bus: Bus, options: TimelineOptions): Promise<BusEvent[]> {
  const timeline = await Timeline.open(bus, options);
  const events = await takeRest(timeline);
  timeline.close();
  return events;
}

/** All that the streams hold now: one call gives what is here, which may be a part of it. */
async function takeRest(timeline: Timeline): Promise<BusEvent[]> {
  const events: BusEvent[] = [];
  for (;;) {
    const some = await timeline.take(1_000, 5_000, true);
    events.push(...some);
    if (some.length === 0) return events;
  }
}

const tagsOf = (events: readonly BusEvent[]): string[] => events.map(({ tag }) => tag);

test('jobs and their returns come as one bus, in order, with what readers of sockets get', async () => {
  const tags = [...(await fill(worker, 1)), ...(await fill(worker, 2))];
  const events = await takeAll(worker, { from: 'oldest' });
  expect(tagsOf(events)).toEqual(tags);
  const [first] = events;
  expect(unpackMap(await (first?.body() ?? Buffer.alloc(0)))).toEqual(
    mapOf({
      jid: jidOf(1),
      tgt_type: 'glob',
      tgt: '*',
      user: 'root',
      fun: 'test.ping',
      arg: [1],
      minions: ['a'],
      missing: [],
    }),
  );
  for (const event of events) expect(Math.abs(event.timeMs - Date.now())).toBeLessThan(60_000);
});

test('from every single position exactly the rest comes', async () => {
  const all = await takeAll(worker, { from: 'oldest' });
  for (const [at, { position }] of all.entries()) {
    const rest = await takeAll(worker, { from: { position } });
    expect(tagsOf(rest)).toEqual(tagsOf(all).slice(at + 1));
  }
});

test('only what is wanted comes, and the position is past what was not', async () => {
  const timeline = await Timeline.open(worker, {
    from: 'oldest',
    fits: ({ tag }) => tag === 'site/1',
  });
  expect(tagsOf(await takeRest(timeline))).toEqual(['site/1']);
  const { position } = timeline;
  timeline.close();
  expect(await takeAll(worker, { from: { position } })).toEqual([]);
  const kinds = await takeAll(worker, { from: 'oldest', kinds: ['local'] });
  expect(tagsOf(kinds)).toEqual(['site/1', 'site/2']);
});

test('a time and a number of a message are beginnings too', async () => {
  const all = await takeAll(worker, { from: 'oldest' });
  const second = all.findIndex(({ tag }) => tag === `salt/job/${jidOf(2)}/new`);
  const timeMs = Math.floor(all[second]?.timeMs ?? NaN);
  const since = tagsOf(await takeAll(worker, { from: { timeMs } }));
  expect(since.slice(-(all.length - second))).toEqual(tagsOf(all).slice(second));
  expect(since.length).toBeLessThan(all.length);
  const fromFirst = await takeAll(worker, { from: { seq: 1 } });
  expect(tagsOf(fromFirst)).toEqual(expect.arrayContaining(['site/1', 'site/2']));
  expect(await takeAll(worker, { from: { timeMs: Date.now() + 60_000 } })).toEqual([]);
});

test('what comes later follows at once, each event once', async () => {
  const timeline = await Timeline.open(worker, { from: 'now' });
  const taking = timeline.take(1, 10_000);
  const tags = await fill(worker, 3, 300);
  const events = [...(await taking)];
  while (events.length < tags.length) events.push(...(await timeline.take(1_000, 10_000)));
  expect([...tagsOf(events)].sort()).toEqual([...tags].sort());
  expect(tagsOf(events)[0]).toBe(`salt/job/${jidOf(3)}/new`);
  timeline.close();
  await expect(timeline.take(1, 100)).rejects.toMatchObject({ code: 'BUS_CLOSED' });
});

test('a reader that was even and stood still gets its backlog in order', async () => {
  await using own = await startNats();
  const bus = await own.connect('worker-pool');
  const timeline = await Timeline.open(bus, { from: 'now', readAhead: 8 });
  const tags = await fill(bus, 1, 1);
  const events: BusEvent[] = [];
  while (events.length < tags.length) events.push(...(await timeline.take(100, 1_000)));
  // More than a side reads ahead: a job has two events, and 1,024 may wait.
  for (let n = 2; n <= 700; n++) tags.push(...(await fill(bus, n, 1)));
  while (events.length < tags.length) events.push(...(await timeline.take(100, 10_000)));
  const odd = tags.findIndex((tag, n) => events[n]?.tag !== tag);
  expect([odd, tags[odd], events[odd]?.tag]).toEqual([-1, undefined, undefined]);
  timeline.close();
});

test('an iterated timeline goes on until it is closed', async () => {
  const timeline = await Timeline.open(worker, { from: 'now', kinds: ['local'] });
  const seen: string[] = [];
  const reading = (async () => {
    for await (const { tag } of timeline) seen.push(tag);
  })();
  await fill(worker, 4);
  await until('the event of the tool is seen', () => seen.includes('site/4'));
  timeline.close();
  await reading;
});

test('what was trimmed before a position is said, and reading goes on with what is kept', async () => {
  await using own = await startNats();
  const [owner, bus] = await Promise.all([own.connect('event-bus'), own.connect('worker-pool')]);
  for (const n of [1, 2]) await fill(bus, n);
  const all = await takeAll(bus, { from: 'oldest' });
  const early = all[1]?.position ?? '';
  const info = await askJetStream(owner, 'STREAM.INFO.EVENTS', undefined);
  const last = Number(info.ok && (info.value['state'] as { last_seq: number }).last_seq);
  await askJetStream(owner, 'STREAM.PURGE.EVENTS', { seq: last });
  const timeline = await Timeline.open(bus, { from: { position: early } });
  expect(timeline.takeNotices()).toMatchObject([{ kind: 'trimmed' }]);
  expect(tagsOf(await takeRest(timeline))).toContain('site/2');
  expect(timeline.takeNotices()).toEqual([]);
  timeline.close();
  const late = await Timeline.open(bus, { from: { position: all.at(-1)?.position ?? '' } });
  expect(late.takeNotices()).toEqual([]);
  late.close();
  const since = await Timeline.open(bus, { from: { timeMs: Date.now() - 3_600_000 } });
  expect(since.takeNotices()).toMatchObject([{ kind: 'trimmed' }]);
  since.close();
  for (const stream of ['EVENTS', 'PUBLICATIONS']) {
    await askJetStream(owner, `STREAM.PURGE.${stream}`, {});
  }
  const ofAll = await Timeline.open(bus, { from: { timeMs: all[0]?.timeMs ?? 0 } });
  expect(ofAll.takeNotices()).toMatchObject([{ kind: 'trimmed' }]);
  ofAll.close();
  const quiet = await Timeline.open(bus, { from: { timeMs: (all.at(-1)?.timeMs ?? 0) + 1 } });
  expect(quiet.takeNotices()).toEqual([]);
  quiet.close();
});

test('a position of streams that were made again is not taken for one of the new ones', async () => {
  await using own = await startNats();
  const [owner, bus] = await Promise.all([own.connect('event-bus'), own.connect('worker-pool')]);
  await fill(bus, 1);
  const all = await takeAll(bus, { from: 'oldest' });
  const position = all[3]?.position ?? '';
  const live = await Timeline.open(bus, { from: 'now' });
  await askJetStream(owner, 'STREAM.DELETE.EVENTS', undefined);
  await ensureStreams(owner, { totalBytes: 1024 ** 3 / 2 });
  const tags = await fill(bus, 2);
  const timeline = await Timeline.open(bus, { from: { position } });
  expect(timeline.takeNotices()).toMatchObject([{ kind: 'remade' }]);
  const found = tagsOf(await takeRest(timeline));
  for (const tag of tags) expect(found).toContain(tag);
  timeline.close();
  const followed: string[] = [];
  await until('the live reader has the new events', async () => {
    followed.push(...tagsOf(await live.take(1_000, 1_000)));
    return tags.every((tag) => followed.includes(tag));
  });
  expect(live.takeNotices()).toMatchObject([{ kind: 'remade' }]);
  expect(new Set(followed).size).toBe(followed.length);
  live.close();
});

test('a large body is there as long as its event', async () => {
  const body = pack(mapOf({ text: 'x'.repeat(600_000) }));
  const timeline = await Timeline.open(worker, { from: 'now', kinds: ['local'] });
  await new EventWriter(worker).append({ kind: 'local', tag: 'large', body });
  const [event] = await timeline.take(1, 10_000);
  expect(event).toMatchObject({ tag: 'large', size: body.length });
  const read = unpackMap(await (event?.body() ?? Buffer.alloc(0)));
  expect(textOf(read, 'text')?.length).toBe(600_000);
  timeline.close();
});
