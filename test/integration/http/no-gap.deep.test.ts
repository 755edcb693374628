// Followers of events, over kills and cuts: each event once, none missing, against the rig's log.
import type { Bus } from '@brine/bus';
import { endOf } from '@brine/bus/timeline';
import { sized } from '@brine/testing/circle';
import { loadPauses, until } from '@brine/testing/waits';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { StreamClient } from '../../../libs/netapi/test/stream-client.ts';
import { WrittenEvents } from '../../../libs/netapi/test/written-events.ts';
import { startBrowser } from '../../interop/console/console-window.ts';
import { BrowserFollower, type FollowedEvents, PageReader } from './followed-events.ts';
import { TwoHttpApis } from './two-http-apis.ts';

/** Events of the rig: 1,000,000 by the environment. */
const EVENTS = Number(
  process.env['BRINE_NO_GAP_EVENTS'] ?? sized({ change: 20_000, release: 50_000 }),
);
/** The rig waits for followers this far behind: one that reads too slowly is another test. */
const AHEAD_MAX = 5_000;
/** A browser misses this many while it has no network. */
const MISSED = 2_000;
const IN_FLIGHT = 200;
const LIMIT_MS = 3_600_000;
const TOPIC = 'events:rig/*';
const TAGS = 'rig/*';
const END = 'rig/end';
const SHOWN = 5;
/** The bytes of all streams of a master that trims soon. EVENTS has half of them. */
const SMALL_BYTES = 16 * 1024 ** 2;

let browser: Browser;
const closing: (() => unknown)[] = [];

beforeAll(async () => {
  browser = await startBrowser();
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(() => browser?.close());

/** Writes numbered events, and logs those that were acknowledged. */
class Rig {
  readonly log = new Set<string>();
  /** Writes without an acknowledgement: the event may be stored, and is written again. */
  repeated = 0;
  readonly #written: WrittenEvents;
  readonly #seen: () => number;

  constructor(bus: Bus, seen: () => number) {
    this.#written = new WrittenEvents(bus);
    this.#seen = seen;
  }

  /** Writes a number of events, some at a time. */
  async write(count: number): Promise<void> {
    const inFlight = new Set<Promise<void>>();
    for (let n = 0; n < count; n += 1) {
      const one = this.#one(`rig/${n}`).finally(() => inFlight.delete(one));
      inFlight.add(one);
      if (inFlight.size >= IN_FLIGHT) await Promise.race(inFlight);
      while (this.log.size - this.#seen() > AHEAD_MAX) await loadPauses(20);
    }
    await Promise.all(inFlight);
  }

  /** Writes the last one. */
  end(): Promise<void> {
    return this.#one(END);
  }

  /** Waits until this number of events has been acknowledged. */
  async reaches(count: number): Promise<void> {
    await until(`${count} are written`, () => this.log.size >= count, { withinMs: LIMIT_MS });
  }

  async #one(tag: string): Promise<void> {
    for (;;) {
      try {
        await this.#written.site(tag);
        this.log.add(tag);
        return;
      } catch {
        this.repeated += 1;
      }
    }
  }
}

/** The place of an event in its stream: readers may take the two streams in different order. */
function placeIn(position: string): string {
  return position.slice(0, position.indexOf('-'));
}

/** What is wrong with the events that one got: as the rig has them, and each place once. */
function faultsOf({ tags, places }: FollowedEvents, log: ReadonlySet<string>) {
  const got = new Set(tags);
  const own = new Set(places.map(placeIn));
  return {
    missing: [...log].filter((tag) => !got.has(tag)).slice(0, SHOWN),
    strange: [...got].filter((tag) => !log.has(tag)).slice(0, SHOWN),
    twice: places.length - own.size,
  };
}

/** The first events that two got differently. */
function differences(one: FollowedEvents, other: FollowedEvents): readonly string[] {
  const length = Math.max(one.tags.length, other.tags.length);
  const nameOf = ({ tags, places }: FollowedEvents, at: number): string =>
    `${tags[at] ?? 'none'} at ${placeIn(places[at] ?? '-')}`;
  const found: string[] = [];
  for (let at = 0; at < length && found.length < SHOWN; at += 1) {
    const [mine, theirs] = [nameOf(one, at), nameOf(other, at)];
    if (mine !== theirs) found.push(`${at}: ${mine}, ${theirs}`);
  }
  return found;
}

async function ends(following: readonly Promise<void>[], ended: AbortController): Promise<void> {
  ended.abort();
  await Promise.allSettled(following);
}

interface Cut {
  readonly cut: () => unknown;
  readonly mend: () => unknown;
}

/** A browser misses some events because its network is away, and comes again. */
async function misses(follower: BrowserFollower, rig: Rig, { cut, mend }: Cut): Promise<void> {
  const { errors, opened } = follower;
  await cut();
  await until('the stream of the browser has broken', () => follower.errors > errors);
  await rig.reaches(follower.tags.length + MISSED);
  await mend();
  await until('the browser has come again', () => follower.opened > opened);
}

/** All faults, one after the other while the rig writes. */
async function doFaults(site: TwoHttpApis, inBrowser: BrowserFollower, rig: Rig): Promise<void> {
  const { network } = site;
  const at = (share: number) => rig.reaches(EVENTS * share);
  const context = inBrowser.page.context();
  await at(0.1);
  await misses(inBrowser, rig, {
    cut: async () => {
      await context.setOffline(true);
      // What is open stays open in a browser that is offline.
      network.cut();
    },
    mend: () => context.setOffline(false),
  });
  await at(0.25);
  await site.killReplica();
  await at(0.4);
  await site.killFirst();
  await at(0.55);
  await site.killNats();
  await at(0.7);
  await misses(inBrowser, rig, { cut: () => network.refuse(), mend: () => network.mend() });
  await at(0.85);
  await Promise.all([site.killFirst(), site.killReplica()]);
}

test(
  `of ${EVENTS} events each comes once, over kills and cuts`,
  async () => {
    const site = await TwoHttpApis.start();
    closing.push(() => site.close());
    const page = await site.openConsole(browser);
    closing.push(() => page.context().close());
    const ended = new AbortController();
    const bases = () => site.bases();
    const position = await endOf(site.bus);

    const program = new StreamClient();
    closing.push(() => program.close());
    Object.assign(program, { keepsEvents: false, token: site.token, lastId: position });
    const inBrowser = new BrowserFollower(page);
    const reader = new PageReader(bases, site.token);
    const followers = [program, inBrowser];
    const following = [
      program.follow(bases, TOPIC, ended.signal),
      inBrowser.follow(TOPIC, position, ended.signal),
      reader.read(TAGS, position, ended.signal),
    ];
    closing.push(() => ends(following, ended));
    await until('both follow', () => program.of('hello').length > 0 && inBrowser.opened > 0);

    const begun = performance.now();
    const seconds = () => Math.round((performance.now() - begun) / 1_000);
    const rig = new Rig(site.bus, () => Math.min(...followers.map(({ tags }) => tags.length)));
    await Promise.all([rig.write(EVENTS - 1), doFaults(site, inBrowser, rig)]);
    // Also a follower that had all before the last kill has to come again.
    await rig.end();
    const hasAll = ({ tags }: FollowedEvents) => tags.at(-1) === END;
    await until('both followed to the end', () => followers.every(hasAll), { withinMs: LIMIT_MS });
    const streamed = seconds();
    await until('pages have the end', () => hasAll(reader), { withinMs: LIMIT_MS });
    const paged = seconds();
    ended.abort();
    await Promise.all(following);
    const begins = [program.of('hello').length, inBrowser.opened];
    process.stdout.write(
      `${EVENTS} events: streams ${streamed} s, ${reader.pages} pages ${paged} s; ` +
        `streams begun ${begins.join(', ')}; pages asked for again ${reader.refused}; ` +
        `events written again ${rig.repeated}\n`,
    );

    expect(rig.log.size).toBe(EVENTS);
    for (const one of [program, inBrowser, reader]) {
      expect(faultsOf(one, rig.log)).toEqual({ missing: [], strange: [], twice: 0 });
    }
    // Also of those that the rig wrote again, both followers and the pages have the same.
    expect(differences(program, reader)).toEqual([]);
    expect(differences(inBrowser, reader)).toEqual([]);
    const kinds = [...program.messages, ...inBrowser.messages].map(({ event }) => event);
    expect(kinds.filter((kind) => kind === 'lag' || kind === 'reset')).toEqual([]);
    // The faults were real.
    expect(program.of('hello').length).toBeGreaterThan(2);
    expect(inBrowser.opened).toBeGreaterThan(3);
    expect(reader.refused).toBeGreaterThan(0);
  },
  LIMIT_MS,
);

test('a position that the master has trimmed says so, to pages, programs and browsers', async () => {
  const site = await TwoHttpApis.start({ stream_bytes: SMALL_BYTES });
  closing.push(() => site.close());
  const position = await endOf(site.bus);
  const written = new WrittenEvents(site.bus);
  // Three quarters of the room. The master begins at 65 %, and keeps what is younger than 30 s.
  const text = 'x'.repeat(6_000);
  for (let n = 0; n < 1_000; n += 1) await written.site(`rig/${n}`, { text });
  const pageFrom = async (base: string) => {
    const headers = { Authorization: `Bearer ${site.token}` };
    const answer = await fetch(`${base}/v1/events?from=${position}&limit=1`, { headers });
    return { status: answer.status, json: await answer.json() };
  };
  for (const base of site.bases()) {
    await until('it is trimmed', async () => (await pageFrom(base)).status === 410, {
      withinMs: 120_000,
    });
    expect((await pageFrom(base)).json).toMatchObject({
      code: 'gone',
      detail: expect.stringContaining('not kept any more'),
    });
  }
  const ended = new AbortController();
  const page = await site.openConsole(browser);
  closing.push(() => page.context().close());
  const inBrowser = new BrowserFollower(page);
  const following = inBrowser.follow(TOPIC, position, ended.signal);
  closing.push(() => ends([following], ended));
  const programs = site.bases().map(() => new StreamClient());
  for (const [n, base] of site.bases().entries()) {
    const one = programs[n] as StreamClient;
    closing.push(() => one.close());
    await one.open(base, TOPIC, { from: position, token: site.token });
  }
  const all = [inBrowser, ...programs];
  const kindsOf = ({ messages }: (typeof all)[number]) => messages.map(({ event }) => event);
  await until('all are informed', () => all.every((one) => kindsOf(one).includes('reset')));
  await written.site(END);
  await until('all follow from now on', () => all.every(({ tags }) => tags.length > 0));
  for (const one of all) {
    expect(one.tags).toEqual([END]);
    expect(kindsOf(one).filter((kind) => kind !== 'events')).toEqual(['hello', 'reset']);
  }
  ended.abort();
  await following;
}, 300_000);
