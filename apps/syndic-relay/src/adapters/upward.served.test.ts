// eslint-disable-next-line no-restricted-imports -- the relay's own clock
import { setTimeout as wait } from 'node:timers/promises';
import type { Bus } from '@brine/bus';
import { EventWriter } from '@brine/bus/events';
import { PublicationWriter } from '@brine/bus/jobs';
import type { Job } from '@brine/job';
import type { KnownJob, MasterAbove, Sent } from '@brine/syndic';
import { startNats, type TestNats } from '@brine/testing';
import { until } from '@brine/testing/waits';
import type { SaltMap } from '@brine/wire';
import { mapOf, pack, textOf } from '@brine/wire';
import { parseMinionEvent, parseSyndicReturn } from '@brine/wire/load';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Upward, type Way } from './upward.ts';

const JID = '20261122101112131415';
const OTHER = '20261122101112131416';
const SETTINGS = {
  id: 'syn',
  masterId: 'below',
  mode: 'sync',
  pauseMs: 10,
  loadsRemembered: 100,
  keepMs: 3_600_000,
} as const;

/** A master above that can be away. */
class Above implements MasterAbove {
  readonly loads: SaltMap[] = [];
  away = false;
  tries = 0;

  send(load: SaltMap): Promise<Sent> {
    this.tries += 1;
    if (this.away) return Promise.resolve('away');
    this.loads.push(load);
    return Promise.resolve('taken');
  }

  get returned(): string[] {
    const returns = this.loads.filter((load) => textOf(load, 'cmd') === '_syndic_return');
    return returns
      .flatMap(parseSyndicReturn)
      .flatMap(({ jid, returns: map }) => [...map.keys()].map((id) => `${jid}:${id}`));
  }

  get tags(): string[] {
    const events = this.loads.filter((load) => textOf(load, 'cmd') === '_minion_event');
    return events.map(parseMinionEvent).flatMap((load) => {
      return load.kind === 'list' ? load.events.map(({ tag }) => tag) : [];
    });
  }
}

let nats: TestNats;
let relayBus: Bus;
let events: EventWriter;
let publications: PublicationWriter;
let running: { readonly ending: AbortController; readonly done: Promise<void> }[] = [];
let names = 0;

beforeAll(async () => {
  nats = await startNats();
  relayBus = await nats.connect('syndic-relay');
  const worker = await nats.connect('worker-pool');
  events = new EventWriter(worker);
  publications = new PublicationWriter(worker);
});
beforeEach(() => {
  names += 1;
});
afterEach(async () => {
  for (const one of running.splice(0)) await end(one);
});
afterAll(async () => {
  await nats.close();
});

async function end(one: (typeof running)[number]): Promise<void> {
  one.ending.abort(new Error('the end'));
  await one.done;
}

async function start(above: MasterAbove, changes: Partial<Way> = {}) {
  const silent = (): void => undefined;
  const way = new Upward(
    { name: `test${names}`, above, isFor: () => true, returnsOnly: false, ...changes },
    {
      bus: relayBus,
      jobs: { find: () => Promise.resolve(known) },
      clock: {
        nowMs: () => Date.now(),
        sleep: (ms, signal) => wait(ms, undefined, { signal }),
      },
      log: { info: silent, warn: silent, error: silent },
      settings: SETTINGS,
    },
  );
  const ending = new AbortController();
  const one = { ending, done: way.run(ending.signal), way };
  running = [...running, one];
  await until('the way reads', () => way.status.reading);
  return one;
}

const known: KnownJob = { askers: new Set(), load: mapOf({ fun: 'test.ping' }) };

async function returned(minion: string, jid = JID): Promise<void> {
  const data = mapOf({ jid, id: minion, fun: 'test.ping', return: true, retcode: 0 });
  const tag = `salt/job/${jid}/ret/${minion}`;
  await events.append({ kind: 'ret', tag, jid, minion, body: pack(data) });
}

describe('a way up', () => {
  test('brings returns and events, and lists of minions out of the stream of jobs', async () => {
    const above = new Above();
    await start(above);
    await publications.appendJob(job());
    await events.append({ kind: 'auth', tag: 'salt/auth', body: pack(mapOf({ act: 'accept' })) });
    await returned('a');
    await until(
      'the return and its events are above',
      () => above.returned.length === 1 && above.tags.length === 3,
    );
    expect(above.returned).toEqual([`${JID}:a`]);
    expect(above.tags.sort()).toEqual([
      'salt/auth',
      `salt/job/${JID}/new`,
      `salt/job/${JID}/publish`,
    ]);
  });

  test('events that a relay had in hand at its end the next one sends, once', async () => {
    const above = new Above();
    above.away = true;
    const first = await start(above);
    for (const id of ['a', 'b', 'c']) await returned(id);
    await until('it is tried', () => above.tries > 0);
    await returned('d');
    await end(first);
    above.away = false;
    const second = await start(above);
    await until('four are above', () => above.returned.length >= 4);
    await returned('e');
    await until('the last is above', () => above.returned.includes(`${JID}:e`), {
      withinMs: 30_000,
    });
    expect(above.returned.sort()).toEqual(['a', 'b', 'c', 'd', 'e'].map((id) => `${JID}:${id}`));
    expect(second.way.status).toMatchObject({ returns: 5, lost: 0, flows: true });
  });

  test('two relays of one name share the work', async () => {
    const [one, other] = [new Above(), new Above()];
    await start(one);
    await start(other);
    const ids = Array.from({ length: 40 }, (_, n) => `m${n}`);
    for (const id of ids) await returned(id);
    const both = (): string[] => [...one.returned, ...other.returned];
    await until('all are above', () => both().length >= ids.length);
    expect(both().sort()).toEqual(ids.map((id) => `${JID}:${id}`).sort());
  });

  test('for returns only has neither events nor lists, nor returns of others', async () => {
    const above = new Above();
    const isFor = (_job: KnownJob | undefined, masterId?: string): boolean => masterId === 'x';
    const { way } = await start(above, { returnsOnly: true, isFor });
    await events.append({ kind: 'auth', tag: 'salt/auth', body: pack(mapOf({ act: 'accept' })) });
    await returned('a', OTHER);
    const data = mapOf({ jid: OTHER, id: 'b', fun: 'f', return: 1, master_id: 'x' });
    const tag = `salt/job/${OTHER}/ret/b`;
    await events.append({ kind: 'ret', tag, jid: OTHER, minion: 'b', body: pack(data) });
    await until('the return is above', () => above.returned.length === 1);
    expect(above.returned).toEqual([`${OTHER}:b`]);
    expect(way.status).toMatchObject({ passed: 1, events: 0 });
  });
});

function job(): Job {
  return {
    jid: JID,
    publication: pack(mapOf({ jid: JID, fun: 'test.ping', tgt: '*' })),
    load: pack(mapOf({ jid: JID, fun: 'test.ping', arg: [] })),
    principal: 'root',
    user: 'root',
    fun: 'test.ping',
    tgt: '*',
    tgtType: 'glob',
    minions: ['a'],
    missing: [],
    publishedAt: Date.now(),
    deadlineAt: Date.now() + 60_000,
    notAfter: Date.now() + 30_000,
    hidden: false,
    host: 'here',
    requestId: `test-${names}`,
  };
}
