import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bus, connectBus, ensureStreams } from '@brine/bus';
import { makeConsumers } from '@brine/bus/apart';
import { endOf } from '@brine/bus/timeline';
import { resolveNatsServer, startNatsServer } from '@brine/nats-server';
import { loadPauses, until } from '@brine/testing/waits';
import { mapOf, type SaltMap, textOf } from '@brine/wire';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ApiScene, usualAnswer } from '../../../test/api-scene.ts';
import { StreamClient } from '../../../test/stream-client.ts';
import { WrittenEvents } from '../../../test/written-events.ts';

/** Events of the rig. */
const EVENTS = Number(process.env['BRINE_STREAM_EVENTS'] ?? 20_000);
/** Writers wait for followers this far behind: one that reads too slowly is another test. */
const AHEAD_MAX = 5_000;
const IN_FLIGHT = 500;
const STORE_BYTES = 2 * 1024 ** 3;

let dir: string;
let server: Awaited<ReturnType<typeof startNatsServer>>;
const buses: Bus[] = [];
const scenes: ApiScene[] = [];
const clients: StreamClient[] = [];

async function startServer(): Promise<void> {
  const binary = await resolveNatsServer({ env: process.env });
  server = await startNatsServer({ binary, dir, maxFileStore: STORE_BYTES });
}

async function connect(name: 'event-bus' | 'worker-pool' | 'http-api'): Promise<Bus> {
  const bus = await connectBus({ url: server.urls[name], name, connectTimeoutMs: 10_000 });
  buses.push(bus);
  return bus;
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'brine-streams-'));
  await startServer();
  const owner = await connect('event-bus');
  await ensureStreams(owner, { totalBytes: STORE_BYTES / 2 });
  makeConsumers(owner);
}, 600_000);
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await Promise.all(scenes.splice(0).map((scene) => scene.close()));
});
afterAll(async () => {
  await Promise.all(buses.map((bus) => bus.close()));
  await server.stop();
  await rm(dir, { recursive: true, force: true });
});

async function replica(answer: (load: SaltMap) => ReturnType<typeof usualAnswer> = usualAnswer) {
  const scene = new ApiScene({ answer, bus: await connect('http-api') });
  scenes.push(scene);
  return { scene, base: await scene.serve() };
}

function client(): StreamClient {
  const made = new StreamClient();
  clients.push(made);
  return made;
}

/** Writes events of numbers, some at a time, and gives those that were acknowledged. */
async function write(
  written: WrittenEvents,
  tag: string,
  count: number,
  { log, seen }: { readonly log: Set<string>; readonly seen: () => number },
) {
  const inFlight = new Set<Promise<void>>();
  for (let n = 0; n < count; n += 1) {
    const name = `${tag}/${n}`;
    const one = written
      .site(name, { n })
      .then(() => void log.add(name))
      .finally(() => inFlight.delete(one));
    inFlight.add(one);
    if (inFlight.size >= IN_FLIGHT) await Promise.race(inFlight);
    while (log.size - seen() > AHEAD_MAX) await loadPauses(20);
  }
  await Promise.all(inFlight);
}

test(`of ${EVENTS} events each comes once, over kills of NATS and of a replica`, async () => {
  const bus = await connect('worker-pool');
  const written = new WrittenEvents(bus);
  let replicas = [await replica(), await replica()];
  const ended = new AbortController();
  const bases = () => replicas.map(({ base }) => base);
  // Both see all of it. Their places differ, and so does what each missed when its replica ended.
  const followers = [client(), client()];
  for (const one of followers) one.keepsEvents = false;
  const position = await endOf(bus);
  for (const one of followers) one.lastId = position;
  const following = followers.map((one) => one.follow(bases, 'events:rig/*', ended.signal));
  await until('both follow', () => followers.every((one) => one.of('hello').length > 0));
  const log = new Set<string>();
  const seen = () => Math.min(...followers.map(({ tags }) => tags.length));
  const writing = write(written, 'rig', EVENTS, { log, seen });
  const reaches = (share: number) =>
    until(`${share} are written`, () => log.size >= EVENTS * share, { withinMs: 600_000 });
  await reaches(0.2);
  await replicas[0]?.scene.close();
  replicas = replicas.slice(1);
  await reaches(0.4);
  process.kill(server.pid, 'SIGKILL');
  await server.exited;
  await startServer();
  await reaches(0.6);
  replicas = [...replicas, await replica()];
  await replicas[0]?.scene.close();
  replicas = replicas.slice(1);
  await writing;
  expect(log.size).toBe(EVENTS);
  await until('both have all', () => followers.every((one) => one.tags.length >= EVENTS), {
    withinMs: 600_000,
  });
  ended.abort();
  await Promise.all(following);
  for (const one of followers) {
    // A writer that lost an acknowledgement may have stored an event again: at another place.
    expect(new Set(one.places).size).toBe(one.places.length);
    expect(new Set(one.tags)).toEqual(log);
    expect(one.of('lag')).toEqual([]);
    expect(one.of('reset')).toEqual([]);
  }
}, 1_200_000);

test('a follower that does not read is informed and closed, and harms no other', async () => {
  const written = new WrittenEvents(await connect('worker-pool'));
  const { scene, base } = await replica();
  const stalled = await client().open(base, 'events:stall/*');
  const reading = await client().open(base, 'events:stall/*');
  await until('both follow', () => scene.followers.stats.followers === 2);
  stalled.stall();
  const log = new Set<string>();
  const text = 'x'.repeat(7_000);
  let n = 0;
  await until(
    'it is closed',
    async () => {
      for (const end = n + 200; n < end; n += 1) {
        await written.site(`stall/${n}`, { text });
        log.add(`stall/${n}`);
      }
      return scene.followers.stats.closed === 1;
    },
    { withinMs: 120_000 },
  );
  await until('the other has all', () => reading.tags.length === log.size);
  expect(new Set(reading.tags)).toEqual(log);
  expect(reading.of('lag')).toEqual([]);
  stalled.resume();
  await until('its stream ends', () => stalled.isEnded);
  const [lag] = stalled.of('lag');
  expect(stalled.tags).toEqual([...log].slice(0, stalled.tags.length));
  expect(lag?.dropped).toBeGreaterThan(0);
  // What it missed is where the message states it.
  const url = `${base}/v1/events?tag=stall/*&limit=1&from=${lag?.from ?? ''}`;
  const answer = await fetch(url, { headers: { Authorization: 'Bearer abc123' } });
  const { items } = (await answer.json()) as { items: { tag: string }[] };
  expect(items.map(({ tag }) => tag)).toEqual([`stall/${stalled.tags.length}`]);
}, 180_000);

test('a process that stops says when to come again, at another time to each', async () => {
  const { scene, base } = await replica();
  const many = await Promise.all(Array.from({ length: 20 }, () => client().open(base, 'events')));
  await until('all follow', () => scene.followers.stats.followers === 20);
  await scene.close();
  await until('all have ended', () => many.every(({ isEnded }) => isEnded));
  const after = many.map((one) => one.of('bye')[0]?.retryAfter ?? NaN);
  expect(after.every((seconds) => seconds > 0 && seconds < 6)).toBe(true);
  expect(new Set(after).size).toBeGreaterThan(10);
  for (const [at, one] of many.entries()) {
    expect(one.retryMs).toBe(Math.round((after[at] ?? 0) * 1_000));
  }
});

test('nothing comes after a right was taken away, and the stream ends with the log-in', async () => {
  const user = { acl: ['@events'], isValid: true };
  const written = new WrittenEvents(await connect('worker-pool'));
  const { base } = await replica((load) => {
    const cmd = textOf(load, 'cmd');
    if (cmd === 'get_token' && !user.isValid) return mapOf({});
    if (cmd !== 'brine_rights') return usualAnswer(load);
    return mapOf({ principal: 'alice', acl: user.acl, reach: mapOf({}) });
  });
  const one = await client().open(base, 'events:right/*');
  await until('it begins', () => one.of('hello').length > 0);
  let n = 0;
  const isQuiet = async (): Promise<boolean> => {
    const before = one.tags.length;
    const end = await written.site(`right/${(n += 1)}`).then(() => n);
    await until('time for a flush', () => one.tags.length > before, { withinMs: 1_000 }).catch(
      () => undefined,
    );
    return one.tags.length === before && end === n;
  };
  expect(await isQuiet()).toBe(false);
  user.acl = [];
  await until('nothing comes', isQuiet, { withinMs: 40_000 });
  expect(await isQuiet()).toBe(true);
  user.isValid = false;
  await until('the stream ends', () => one.isEnded, { withinMs: 40_000 });
  expect(one.of('bye')).toHaveLength(1);
}, 120_000);
