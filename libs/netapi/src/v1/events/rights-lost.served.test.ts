// A right that is taken away ends on open streams within 30 s, for each kind of topics; what the
// user still may see continues.
import { timeText } from '@brine/api';
import type { Bus } from '@brine/bus';
import { startNats, type TestNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import { mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ApiScene, usualAnswer } from '../../../test/api-scene.ts';
import { closeScenes, served } from '../../../test/served-scene.ts';
import { StreamClient, type StreamMessage } from '../../../test/stream-client.ts';
import { jidOf, WrittenEvents } from '../../../test/written-events.ts';

/** What documents promise, and some time for a machine that is busy. */
const ENDS = { withinMs: 33_000 };
const AT = 1_764_500_000;
/** Things that happen after the right has ended. */
const MORE = 4;

interface Rights {
  /** Null: all rights. */
  readonly acl: readonly SaltValue[] | null;
  readonly reach?: Readonly<Record<string, readonly string[]>>;
}

/** What a case makes happen. */
interface World {
  readonly scene: ApiScene;
  readonly written: WrittenEvents;
  /** The job of another user that a topic names. */
  readonly theirs: ReturnType<typeof jidOf>;
  /** The follower. */
  readonly user: string;
  /** Jobs for the nth time: of another user, or of the follower. */
  jidOf(n: number, user: string): ReturnType<typeof jidOf>;
}

/** A topic whose follower loses a right. */
interface Case {
  readonly name: string;
  readonly topic: (world: World) => string;
  readonly before: Rights;
  readonly after: Rights;
  /** For the nth time: first what the follower loses, then what it keeps. */
  readonly happen: (world: World, n: number) => Promise<void>;
  /** True if messages since then have what it keeps; or something that it loses. */
  readonly keeps: (got: Got, n: number, world: World) => boolean;
  readonly loses: (got: Got, n: number, world: World) => boolean;
}

const onWebs = (...functions: string[]): Rights => ({
  acl: [mapOf({ 'web*': functions })],
  reach: { 'web*': ['web1', 'web2'] },
});

/** Messages of a client since some moment. */
class Got {
  readonly client: StreamClient;
  readonly #from: number;

  constructor(client: StreamClient) {
    this.client = client;
    this.#from = client.messages.length;
  }

  get messages(): readonly StreamMessage[] {
    return this.client.messages.slice(this.#from);
  }

  get text(): string {
    return JSON.stringify(this.messages);
  }

  of(event: string): readonly unknown[] {
    return this.messages.filter((one) => one.event === event).map(({ data }) => data);
  }
}

interface Overview {
  readonly fleet?: { readonly total: number };
  readonly jobs: Readonly<Record<'began' | 'returns' | 'failed', number>>;
}
interface Rows {
  readonly rows: readonly { readonly minion: { readonly id: string } }[];
  readonly counts: {
    readonly total: number;
    readonly facets?: { readonly key: Readonly<Record<string, number>> };
  };
}

/** A minion that the follower does not see any more, and one that it does. */
async function moveFleet({ scene: { fleet } }: World, n: number): Promise<void> {
  fleet.setKey(`db-${n}`, { state: 'accepted', hasDenied: false });
  fleet.setPresence(`db-${n}`, { present: true, since: AT });
  fleet.setKey(`pending-${n}`, { state: 'pending', hasDenied: false });
  fleet.setGrains('web2', [`Secret-${n}`, '12', 'Linux', '3006.5']);
  fleet.stateRun('web1', { jid: jidOf(90_000 + n), at: AT + n, hasFailed: true });
  fleet.seen('web1', 'return', AT + n);
}

const keepsRow = (got: Got, n: number): boolean =>
  got.of('rows').some((one) => JSON.stringify(one).includes(timeText(AT + n)));

function losesRow(got: Got): boolean {
  const windows = got.of('rows') as readonly Rows[];
  const isOf = ({ minion }: Rows['rows'][number]): boolean => !minion.id.startsWith('web');
  return (
    windows.some(({ rows, counts }) => counts.total !== 2 || rows.some(isOf)) ||
    /Secret|Debian|"failed"/.test(JSON.stringify(windows.map(({ rows }) => rows)))
  );
}

function losesFacet(got: Got): boolean {
  const windows = got.of('rows') as readonly Rows[];
  return windows.some(({ counts: { facets } }) => {
    if (facets === undefined) return false;
    const isOfTwo = facets.key['accepted'] === 2 && facets.key['pending'] === 0;
    return !isOfTwo || /Secret|Debian/.test(JSON.stringify(facets));
  });
}

const CASES: readonly Case[] = [
  {
    name: 'events of the site',
    topic: () => 'events',
    before: { acl: ['@events', '@jobs'] },
    after: { acl: ['@jobs'] },
    happen: async (world, n) => {
      await world.written.site(`lost/${n}`);
      await world.written.returns(world.theirs, `web-${n}`);
    },
    keeps: (got, n, { theirs }) => got.text.includes(`${theirs}/ret/web-${n}`),
    loses: (got) => got.text.includes('lost/'),
  },
  {
    name: 'events with a filter',
    topic: () => 'events:*/ret/*',
    before: { acl: ['cmd.run'] },
    after: onWebs('cmd.run'),
    happen: async ({ written, theirs }, n) => {
      await written.returns(theirs, `db-${n}`);
      await written.returns(theirs, n % 2 === 0 ? 'web2' : 'web1');
    },
    keeps: (got, _n, { theirs }) => got.text.includes(`${theirs}/ret/web`),
    loses: (got, _n, { theirs }) => got.text.includes(`${theirs}/ret/db-`),
  },
  {
    name: 'events of minions that a target does not match any more',
    topic: () => 'events',
    before: { acl: [mapOf({ 'G@a:b': ['.*'] })], reach: { 'G@a:b': ['web1', 'db1'] } },
    after: { acl: [mapOf({ 'G@a:b': ['.*'] })], reach: { 'G@a:b': ['web1'] } },
    happen: async ({ written, theirs }) => {
      await written.returns(theirs, 'db1');
      await written.returns(theirs, 'web1');
    },
    keeps: (got, _n, { theirs }) => got.text.includes(`${theirs}/ret/web1`),
    loses: (got, _n, { theirs }) => got.text.includes(`${theirs}/ret/db1`),
  },
  {
    name: 'counts of jobs',
    topic: () => 'jobs',
    before: { acl: ['@jobs'] },
    after: { acl: [] },
    happen: async (world, n) => {
      for (const user of ['bob', world.user]) {
        await world.written.job(world.jidOf(n, user), user);
        await world.written.returns(world.jidOf(n, user), 'web1');
      }
    },
    keeps: (got, n, world) => got.text.includes(world.jidOf(n, world.user)),
    loses: (got, n, world) => got.text.includes(world.jidOf(n, 'bob')),
  },
  {
    name: 'counts, returns and progress of a job',
    topic: ({ theirs }) => `job:${theirs}`,
    before: { acl: ['@jobs'] },
    after: onWebs('cmd.run'),
    happen: async ({ written, theirs }, n) => {
      await written.progress(theirs, `db-${n}`, n);
      await written.returns(theirs, `db-${n}`);
      await written.returns(theirs, n % 2 === 0 ? 'web2' : 'web1');
    },
    keeps: (got) => got.of('returns').some((one) => JSON.stringify(one).includes('"web')),
    loses: (got) =>
      got.text.includes('db-') || got.of('job').length + got.of('progress').length > 0,
  },
  {
    name: 'rows, counts and facets of the fleet',
    topic: () => 'minions:facets=true:0..99',
    before: { acl: ['test.ping', 'grains.items', 'state.*', '@wheel'] },
    after: onWebs('test.ping'),
    happen: moveFleet,
    keeps: keepsRow,
    loses: (got) => losesRow(got) || losesFacet(got),
  },
  {
    name: 'rows that a grain selects',
    topic: () => 'minions:os=Debian&facets=true:0..99',
    before: { acl: ['test.ping', 'grains.items'] },
    after: {
      acl: ['test.ping', mapOf({ 'web*': ['grains.items'] })],
      reach: { 'web*': ['web1'] },
    },
    happen: async ({ scene: { fleet } }, n) => {
      fleet.setKey(`db-${n}`, { state: 'accepted', hasDenied: false });
      fleet.setGrains(`db-${n}`, ['Debian', '12', 'Linux', '3006.5']);
      fleet.seen('web1', 'return', AT + n);
    },
    keeps: keepsRow,
    loses: (got) => (got.of('rows') as readonly Rows[]).some(({ counts }) => counts.total !== 1),
  },
  {
    name: 'numbers of an overview',
    topic: () => 'overview',
    before: { acl: ['@jobs', '@wheel', 'test.ping'] },
    after: onWebs('test.ping'),
    happen: async (world, n) => {
      await moveFleet(world, n);
      await world.written.job(world.jidOf(n, 'bob'), 'bob');
      await world.written.returns(world.jidOf(n, 'bob'), 'web1', { retcode: 1 });
      await world.written.job(world.jidOf(n, world.user), world.user);
      await world.written.returns(world.jidOf(n, world.user), 'web1');
    },
    keeps: (got) => sumOf(got, 'returns') > sumOf(got, 'failed') && sumOf(got, 'began') > 0,
    loses: (got) => {
      const all = got.of('overview') as readonly Overview[];
      const isOfMore = all.some(({ fleet }) => (fleet?.total ?? 2) !== 2);
      return isOfMore || sumOf(got, 'began') > 1 || sumOf(got, 'failed') > 0;
    },
  },
];

function sumOf(got: Got, name: keyof Overview['jobs']): number {
  const all = got.of('overview') as readonly Overview[];
  return all.reduce((sum, { jobs }) => sum + jobs[name], 0);
}

let nats: TestNats;
let bus: Bus;
let written: WrittenEvents;
const clients: StreamClient[] = [];

beforeAll(async () => {
  nats = await startNats();
  bus = await nats.connect('http-api');
  written = new WrittenEvents(await nats.connect('worker-pool'));
}, 600_000);
afterAll(async () => {
  for (const client of clients) client.close();
  await closeScenes();
  await nats.close();
});

/** A follower of a case, and its rights. */
async function followed(one: Case, number: number, before: Rights) {
  const principal = `user${number}`;
  const user = { rights: before, unanswered: 0 };
  const answer = (load: SaltMap) => {
    const cmd = textOf(load, 'cmd');
    if (cmd === 'brine_read') return mapOf({ value: mapOf({ jids: [] }) });
    if (cmd !== 'brine_rights') return usualAnswer(load);
    if (user.unanswered > 0) {
      user.unanswered -= 1;
      return { kind: 'expired', why: 'gone', handed: false } as const;
    }
    const { acl, reach = {} } = user.rights;
    const sets = new Map<SaltValue, SaltValue>(
      Object.entries(reach).map(([target, ids]) => [target, [...ids]] as const),
    );
    return mapOf({
      principal,
      acl: acl === null ? null : [...acl],
      reach: sets,
    });
  };
  const { scene, base } = await served({ answer, bus });
  const { fleet } = scene;
  for (const id of ['web1', 'web2', 'db1']) {
    fleet.setKey(id, { state: 'accepted', hasDenied: false });
    fleet.setGrains(id, ['Debian', '12', 'Linux', '3006.5']);
    fleet.setPresence(id, { present: true, since: AT });
  }
  const at = (number + 1) * 2_000;
  const world: World = {
    scene,
    written,
    theirs: jidOf(at),
    user: principal,
    jidOf: (n, user) => jidOf(at + 2 * n + (user === principal ? 1 : 0)),
  };
  const client = new StreamClient();
  clients.push(client);
  await client.open(base, one.topic(world));
  await until('it follows', () => scene.followers.stats.followers > 0);
  await written.job(world.theirs, 'bob', ['web1', 'db1']);
  let n = 0;
  /** Something happens; gives what came of it. */
  const step = async () => {
    n += 1;
    const got = new Got(client);
    await one.happen(world, n);
    await until(`what it keeps comes for the ${n}th time`, () => one.keeps(got, n, world));
    return { got, loses: one.loses(got, n, world) };
  };
  return { user, client, step, scene };
}

/** Things happen until what was lost comes no more; then some more of them. */
async function expectLost({ step, client }: Awaited<ReturnType<typeof followed>>): Promise<void> {
  await until('nothing of it comes any more', async () => !(await step()).loses, ENDS);
  for (let more = 0; more < MORE; more += 1) {
    const { got, loses } = await step();
    expect([loses, got.messages]).toEqual([false, got.messages]);
  }
  expect(client.isEnded).toBe(false);
  expect([...client.of('reset'), ...client.of('lag')]).toEqual([]);
}

test('each kind of topics has a case', async () => {
  const { scene } = await served();
  const world = { theirs: jidOf(1) } as World;
  const kinds = new Set(CASES.map(({ topic }) => topic(world).split(':')[0]));
  expect([...kinds].sort(), 'kinds of topics: add a case').toEqual(
    [...scene.parts.topics.keys()].sort(),
  );
});

const RUNS = CASES.flatMap((one, at) => [
  { ...one, from: 'some rights', number: 3 * at, unanswered: 0 },
  { ...one, from: 'all rights', number: 3 * at + 1, unanswered: 0, before: { acl: null } },
]);
const [FIRST] = RUNS;
/** The master does not answer when it is asked for the rights of this one. */
const UNANSWERED = { ...FIRST!, number: 2, unanswered: 1 };

describe('a follower whose rights become fewer', () => {
  const running = new Map<number, Promise<void>>();

  const run = async ({ unanswered, ...one }: (typeof RUNS)[number]): Promise<void> => {
    const follower = await followed(one, one.number, one.before);
    await until('it has the right', async () => (await follower.step()).loses);
    follower.user.unanswered = unanswered;
    follower.user.rights = one.after;
    await expectLost(follower);
    expect(follower.user.unanswered).toBe(0);
  };

  // All at the same time: each takes half a minute.
  beforeAll(() => {
    for (const one of [...RUNS, UNANSWERED]) {
      const ended = run(one);
      ended.catch(() => undefined);
      running.set(one.number, ended);
    }
  });

  test.each(RUNS)('loses $name within 30 s, of $from, and keeps the rest', ({ number }) =>
    running.get(number),
  );

  test('loses it also where the master does not answer just then', () =>
    running.get(UNANSWERED.number));
});
