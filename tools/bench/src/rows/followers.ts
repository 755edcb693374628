import { setTimeout as sleep } from 'node:timers/promises';
import { Releasers } from '@brine/service';
import { freePorts } from '@brine/testing';
import { EventStream } from '../load/event-stream.ts';
import { Fleet } from '../load/fleet.ts';
import { HttpCaller, httpConfig } from '../load/http-caller.ts';
import { type Followed, HttpFollowers } from '../load/http-followers.ts';
import { type LoadSample, storedSlice } from '../load/stored-slice.ts';
import type { MasterUnderTest } from '../masters/master.ts';
import { startMaster } from '../masters/start-masters.ts';
import { spent } from '../measure/process-tree.ts';
import { quiet } from '../measure/slice.ts';
import { pairedRatios, percentile, spreadOf } from '../measure/statistics.ts';
import { watchMemory } from '../measure/watch.ts';
import { type Cell, cellOf, type Figure, figureOf } from '../report/figure.ts';
import type { Row, RowContext } from './row.ts';

const SERVICE = 'http-api';
/** One user may have half of all followers. */
const USERS = ['bench', 'other', 'third'];
const MANY = 10_000;
const FEW = 1_000;
const RATE = 1_000;
const SECONDS = 30;
const SETTLE_MS = 3_000;
/** Longer than a stream of many waits for its writes. */
const LATE_MS = 3_000;
/** Buffers of the system take this long to fill before a follower counts as one that stalls. */
const STALL_SECONDS_MAX = 180;
const POLL_MS = 500;
const CALL_MS = 250;
const MINIONS = 500;
/** Minions of the calls meanwhile. */
const PINGED = 3;
const PREFIX = 'ping-';
const IN_FLIGHT = 128;
const WARM_UP_RETURNS = 2_000;

/** Followers of events by HTTP: what each costs, how late they are, and what they cost returns. */
export const FOLLOWERS_ROW: Row = {
  name: 'followers',
  about: `${MANY} followers of /events, ${FEW} at ${RATE} events/s, and returns beside them`,
  inTable: false,
  run: runFollowers,
};

interface Scene {
  readonly context: RowContext;
  readonly master: MasterUnderTest;
  readonly followers: HttpFollowers;
  readonly events: EventStream;
  readonly caller: HttpCaller;
  readonly tokens: readonly string[];
  /** Where the metrics of the master are. */
  readonly metrics: string;
  /** Minions that never answer, so that their returns can be sent as a storm. */
  readonly silent: Fleet;
}

async function runFollowers(context: RowContext): Promise<readonly Figure[]> {
  await using releasers = new Releasers();
  const scene = await openScene(context, releasers);
  return [
    ...(await many(scene)),
    ...(await few(scene)),
    ...(await returnsBeside(scene, '/events', 'all events')),
    ...(await returnsBeside(scene, '/v1/stream?topics=jobs', 'jobs')),
  ];
}

async function openScene(context: RowContext, releasers: Releasers): Promise<Scene> {
  const { installed, say } = context;
  const [port = 0, metricsPort = 0] = await freePorts(2);
  const config = { ...httpConfig(port, USERS), brine: { metrics: { port: metricsPort } } };
  const master = await startMaster(installed, 'brine', { config });
  releasers.add(() => master.close());
  await master.serveHttp(port);
  const tokens: string[] = [];
  for (const user of USERS) {
    const one = await HttpCaller.open(port, user);
    tokens.push(one.token);
    one.close();
  }
  const caller = await HttpCaller.open(port, USERS[0]);
  releasers.add(() => caller.close());
  const followers = new HttpFollowers(port);
  releasers.add(() => followers.close());
  const events = await EventStream.open(master);
  releasers.add(() => events.close());
  const behaviours = [{ share: 1, answer: 'never' }] as const;
  const silent = await Fleet.start(master, { minions: MINIONS, behaviours, say });
  releasers.add(() => silent.close());
  const pinged = await Fleet.start(master, { minions: PINGED, prefix: PREFIX, say });
  releasers.add(() => pinged.close());
  await pinged.connect();
  const metrics = `http://127.0.0.1:${metricsPort}/metrics`;
  return { context, master, followers, events, caller, tokens, metrics, silent };
}

/** Memory of each of many followers, and the CPU of one event a second for all of them. */
async function many(scene: Scene): Promise<readonly Figure[]> {
  const { context, master, followers, events, tokens } = scene;
  const count = Math.min(MANY, context.minionsMax);
  const { say } = context;
  // Code is loaded, and the heap has grown to what requests need.
  await followers.open(Math.min(FEW, count), tokens);
  await followers.end();
  await quiet(master.tree);
  const rest = await pssOf(master);
  say(`followers: ${count} begin`);
  const begun = performance.now();
  await followers.open(count, tokens);
  const openedS = (performance.now() - begun) / 1_000;
  await sleep(SETTLE_MS);
  await followers.seen();
  const before = await master.tree.cpu();
  const since = performance.now();
  const written = await events.write(1, SECONDS);
  await sleep(LATE_MS);
  const cores = spent(before, await master.tree.cpu());
  const share = (cores[SERVICE] ?? 0) / ((performance.now() - since) / 1_000);
  const grownKib = ((await pssOf(master)) - rest) / count;
  const seen = await followers.seen();
  await followers.end();
  const name = count.toLocaleString('en-US');
  return [
    line(`${name} followers: memory each (PSS of ${SERVICE})`, 'KiB', grownKib, {
      detail: { restKib: rest },
    }),
    line(`${name} followers, one event/s: cores of ${SERVICE}`, 'count', share, {
      note: wholeness(seen, written),
      detail: { cores },
    }),
    line(`${name} followers: an event comes after, p99`, 'ms', seen.p99, { detail: { ...seen } }),
    line(`${name} followers: all have begun after`, 's', openedS),
  ];
}

/** Delay and memory with many events, and one follower that does not read. */
async function few(scene: Scene): Promise<readonly Figure[]> {
  const { context, master, followers, events, tokens } = scene;
  const count = Math.min(FEW, context.minionsMax);
  context.say(`followers: ${count} at ${RATE} events/s`);
  await quiet(master.tree);
  await followers.open(count, tokens);
  await followers.stall(tokens[0] ?? '');
  await sleep(SETTLE_MS);
  await followers.seen();
  const memory = watchMemory(master.tree);
  const ended = new AbortController();
  const calls = callUntil(scene, ended.signal);
  const before = await master.tree.cpu();
  const since = performance.now();
  const written = await events.write(RATE, SECONDS);
  const tookS = (performance.now() - since) / 1_000;
  await sleep(LATE_MS);
  const cores = spent(before, await master.tree.cpu());
  const seen = await followers.seen();
  const enough = new AbortController();
  const writing = events.write(RATE, STALL_SECONDS_MAX, enough.signal);
  const stalledS = await closedAfter(scene, since);
  const resumed = await followers.resume();
  enough.abort();
  await writing;
  ended.abort();
  const samples = (await memory.end()).map(({ mib }) => mib[SERVICE] ?? 0);
  const { root, ping } = await calls;
  await followers.end();
  const perS = Math.round(written / tookS);
  const name = `${count.toLocaleString('en-US')} followers, ${perS} events/s`;
  const half = Math.floor(samples.length / 2);
  const most = (some: readonly number[]): string => Math.max(...some).toFixed(0);
  const first = most(samples.slice(0, half));
  const second = most(samples.slice(half));
  return [
    line(`${name}: an event comes after, p99`, 'ms', seen.p99, {
      note: `p50 ${seen.p50}, ${wholeness(seen, written)}`,
      detail: { ...seen },
    }),
    line(
      `${name}: cores of ${SERVICE}`,
      'count',
      (cores[SERVICE] ?? 0) / (tookS + LATE_MS / 1_000),
      {
        detail: { cores },
      },
    ),
    line(`${name}: memory of ${SERVICE}, most`, 'MiB', Math.max(...samples), {
      note: `${first} in the first half, ${second} in the second`,
      detail: { samples },
    }),
    line(`${name}: the one that does not read is closed after`, 's', stalledS, {
      note: resumed.knowsWhatItMissed ? 'it knows what it missed' : 'it was not informed',
    }),
    line(`${name}: GET / meanwhile, p99`, 'ms', percentile(root.times, 0.99), {
      note: `${root.times.length} answered, ${root.failed} not`,
    }),
    line(`${name}: local test.ping meanwhile, p99`, 'ms', percentile(ping.times, 0.99), {
      note: `${ping.times.length} answered, ${ping.failed} not`,
    }),
  ];
}

/** Returns stored a second with followers, and without. */
async function returnsBeside(scene: Scene, path: string, what: string): Promise<readonly Figure[]> {
  const { context, master, followers, tokens, silent } = scene;
  const count = Math.min(FEW, context.minionsMax);
  const slice = async (returns: number): Promise<LoadSample> =>
    storedSlice(master, await silent.returns(returns, IN_FLIGHT));
  await slice(WARM_UP_RETURNS);
  const { perSecond } = await slice(WARM_UP_RETURNS);
  const returns = MINIONS * Math.max(1, Math.round((perSecond * context.sliceSeconds) / MINIONS));
  const rates: { readonly beside: number[]; readonly alone: number[] } = { beside: [], alone: [] };
  for (let round = 0; round < context.pairs; round += 1) {
    context.say(`followers: returns, ${round + 1} of ${context.pairs}`);
    const order = ['beside', 'alone'] as const;
    for (const side of round % 2 === 0 ? order : [...order].reverse()) {
      if (side === 'beside') await followers.open(count, tokens, path);
      rates[side].push((await slice(returns)).perSecond);
      if (side === 'beside') await followers.end();
    }
  }
  const { median = 0, q1 = 0, q3 = 0 } = spreadOf(pairedRatios(rates.beside, rates.alone)) ?? {};
  const note = `${median.toFixed(2)} times, ${q1.toFixed(2)}–${q3.toFixed(2)}`;
  const name = `returns/s stored, ${count.toLocaleString('en-US')} followers of ${what}`;
  const head = { row: 'followers', unit: '1/s', better: 'more' } as const;
  return [
    figureOf({ ...head, name: `${name}`, cells: { brine: cellOf(rates.beside, { note }) } }),
    figureOf({
      ...head,
      name: `returns/s stored, none beside those of ${what}`,
      cells: { brine: cellOf(rates.alone) },
    }),
  ];
}

/** Times of calls in ms, and how many were not answered whole. */
interface Called {
  readonly times: number[];
  failed: number;
}

/** Calls until the signal. */
async function callUntil(
  { caller }: Scene,
  signal: AbortSignal,
): Promise<{ readonly root: Called; readonly ping: Called }> {
  const root: Called = { times: [], failed: 0 };
  const ping: Called = { times: [], failed: 0 };
  const timed = async (into: Called, isWhole: () => Promise<boolean>): Promise<void> => {
    const since = performance.now();
    if (await isWhole().catch(() => false)) into.times.push(performance.now() - since);
    else into.failed += 1;
  };
  const low = { client: 'local', tgt: `${PREFIX}*`, fun: 'test.ping' };
  while (!signal.aborted) {
    await timed(root, async () => (await caller.ask('GET', '/')).status === 200);
    await timed(ping, async () => (await caller.call(low)).match(/true/g)?.length === PINGED);
    await sleep(CALL_MS);
  }
  return { root, ping };
}

/** Seconds from then until a follower was closed because it did not read. */
async function closedAfter({ metrics }: Scene, since: number): Promise<number> {
  const until = performance.now() + STALL_SECONDS_MAX * 1_000;
  while (performance.now() < until) {
    const text = await (await fetch(metrics)).text();
    const closed = /^brine_http_closed_total(?:\{.*\})? (\d+)/m.exec(text)?.[1] ?? '0';
    if (Number(closed) > 0) return (performance.now() - since) / 1_000;
    await sleep(POLL_MS);
  }
  throw new Error('the follower that does not read was not closed');
}

async function pssOf({ tree }: MasterUnderTest): Promise<number> {
  return (await tree.sizes())[SERVICE]?.pss ?? 0;
}

function wholeness({ frames: [least, most], bytes, ended }: Followed, written: number): string {
  const isWhole = least === written && most === written && bytes[0] === bytes[1] && ended === 0;
  return isWhole ? 'all got all' : `${least}–${most} of ${written}, ${ended} ended`;
}

function line(
  name: string,
  unit: Figure['unit'],
  value: number,
  more: Omit<Cell, 'value' | 'samples'> = {},
): Figure {
  const cells = { brine: cellOf([value], more) };
  return figureOf({ row: 'followers', name, unit, better: 'less', cells });
}
