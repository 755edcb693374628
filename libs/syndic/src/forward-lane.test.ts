import { TestClock } from '@brine/testing';
import type { SaltMap } from '@brine/wire';
import { listOf, mapIn, mapOf, textOf } from '@brine/wire';
import { parseMinionEvent, parseSyndicReturn } from '@brine/wire/load';
import { describe, expect, test } from 'vitest';
import type { LaneParts, LaneSettings } from './forward-lane.ts';
import { ForwardLane } from './forward-lane.ts';
import type { EventToForward, KnownJob, Sent } from './ports.ts';

const NOW = new TestClock().nowMs();
const JID = '20231114221320000001';
const SETTINGS: LaneSettings = {
  id: 'syn',
  masterId: 'below',
  mode: 'sync',
  pauseMs: 0,
  loadsRemembered: 2,
  keepMs: 3_600_000,
};

/** A master above that gives these answers, the last one again and again. */
class Above {
  readonly loads: SaltMap[] = [];
  answers: Sent[] = ['taken'];
  /** Refuses requests with a return of this minion. */
  refuses: string | undefined;

  send(load: SaltMap): Promise<Sent> {
    this.loads.push(load);
    const next = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
    if (this.refuses !== undefined && this.minionsOf(load).includes(this.refuses)) {
      return Promise.resolve('refused');
    }
    return Promise.resolve(next ?? 'taken');
  }

  minionsOf(load: SaltMap): string[] {
    if (textOf(load, 'cmd') !== '_syndic_return') return [];
    return parseSyndicReturn(load).flatMap(({ returns }) => [...returns.keys()]);
  }
}

class TestEvent implements EventToForward {
  readonly key: string;
  readonly tag: string;
  readonly jid: string | undefined;
  readonly minion: string | undefined;
  readonly size: number;
  readonly timeMs: number;
  readonly #data: SaltMap | undefined;
  acked = 0;
  givenBack = 0;

  constructor(key: string, tag: string, data: SaltMap | undefined, timeMs = NOW) {
    const [, , jid, , minion] = tag.split('/');
    this.key = key;
    this.tag = tag;
    this.jid = minion === undefined ? undefined : jid;
    this.minion = minion;
    this.size = 100;
    this.timeMs = timeMs;
    this.#data = data;
  }

  data(): Promise<SaltMap | undefined> {
    return Promise.resolve(this.#data);
  }

  ack(): void {
    this.acked += 1;
  }

  giveBack(): void {
    this.givenBack += 1;
  }
}

function returned(minion: string, jid = JID, timeMs = NOW, more: SaltMap = mapOf({})): TestEvent {
  const fixed = mapOf({ jid, id: minion, fun: 'test.ping', return: true, retcode: 0 });
  const data = new Map([...fixed, ...more]);
  return new TestEvent(`${jid}:${minion}`, `salt/job/${jid}/ret/${minion}`, data, timeMs);
}

function lane(parts: Partial<LaneParts> = {}, settings: Partial<LaneSettings> = {}) {
  const above = new Above();
  const told: string[] = [];
  const tell = (_fields: object, text: string): void => void told.push(text);
  const known: KnownJob = {
    askers: new Set(['abc']),
    load: mapOf({ fun: 'test.ping', Minions: ['a', 'b'] }),
  };
  const lane = new ForwardLane(
    {
      above,
      jobs: { find: () => Promise.resolve(known) },
      isFor: () => true,
      clock: new TestClock(),
      log: { info: tell, warn: tell, error: tell },
      ...parts,
    },
    { ...SETTINGS, ...settings },
  );
  return { lane, above, told, signal: new AbortController().signal };
}

describe('returns', () => {
  test('go up by job, with the load the first time only', async () => {
    const { lane: up, above, signal } = lane();
    const other = '20231114221320000002';
    const first = [returned('a'), returned('b'), returned('a', other)];
    await up.forward(first, signal);
    await up.forward([returned('c')], signal);
    const [one, two] = above.loads.map(parseSyndicReturn);
    expect(
      one?.map(({ id, jid, fun, load, returns }) => [id, jid, fun, load.size, returns.size]),
    ).toEqual([
      ['syn', JID, 'test.ping', 2, 2],
      ['syn', other, 'test.ping', 2, 1],
    ]);
    expect(two?.map(({ load }) => load.size)).toEqual([0]);
    expect(one?.[0]?.returns.get('a')).toEqual(mapOf({ return: true, retcode: 0 }));
    expect(first.map(({ acked }) => acked)).toEqual([1, 1, 1]);
    expect(up.stats).toMatchObject({ returns: 4, lost: 0 });
  });

  test('carry the master that asked and the outputter', async () => {
    const { lane: up, above, signal } = lane();
    const more = mapOf({ master_id: 'above', out: 'highstate' });
    await up.forward([returned('a', JID, NOW, more)], signal);
    const [job] = above.loads.flatMap(parseSyndicReturn);
    expect(job).toMatchObject({ masterId: 'above', out: 'highstate' });
  });

  test('a second, other return of a minion goes up beside the first', async () => {
    const { lane: up, above, signal } = lane();
    const second = new TestEvent('other', `salt/job/${JID}/ret/a`, mapOf({ jid: JID, return: 2 }));
    await up.forward([returned('a'), second], signal);
    const jobs = above.loads.flatMap(parseSyndicReturn);
    expect(jobs.map(({ returns }) => returns.get('a')?.get('return'))).toEqual([true, 2]);
  });

  test('the load of the oldest job is forgotten first', async () => {
    const { lane: up, above, signal } = lane();
    const jids = [1, 3, 2].map((n) => `2023111422132000000${n}`);
    for (const jid of jids) await up.forward([returned('a', jid)], signal);
    for (const jid of jids) await up.forward([returned('b', jid)], signal);
    const again = above.loads.slice(3).flatMap(parseSyndicReturn);
    expect(again.map(({ jid, load }) => [jid, load.size > 0])).toEqual([
      [jids[0], true],
      [jids[1], false],
      [jids[2], false],
    ]);
  });

  test('for another master are passed over', async () => {
    const isFor = (_job: KnownJob | undefined, masterId?: string) => masterId === 'mine';
    const { lane: up, above, signal } = lane({ isFor });
    const mine = returned('a', JID, NOW, mapOf({ master_id: 'mine' }));
    const other = returned('b', JID, NOW, mapOf({ master_id: 'other' }));
    await up.forward([mine, other], signal);
    expect(above.loads.flatMap((load) => above.minionsOf(load))).toEqual(['a']);
    expect(other.acked).toBe(1);
    expect(up.stats.passed).toBe(1);
  });

  test('that come again because their acknowledgement was late go up once', async () => {
    const { lane: up, above, signal } = lane();
    const again = returned('a');
    await up.forward([returned('a')], signal);
    await up.forward([again], signal);
    expect(above.loads).toHaveLength(1);
    expect(again.acked).toBe(1);
  });
});

describe('an unreachable master above', () => {
  test('gets everything once it is back, in order, and nothing is acknowledged before', async () => {
    const { lane: up, above, told, signal } = lane();
    above.answers = ['away', 'away', 'away', 'taken'];
    const events = [returned('a'), returned('b')];
    const acked: number[][] = [];
    const send = above.send.bind(above);
    above.send = (load) => {
      acked.push(events.map((one) => one.acked));
      return send(load);
    };
    await up.forward(events, signal);
    expect(acked).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
    expect(events.map((one) => one.acked)).toEqual([1, 1]);
    expect(above.minionsOf(above.loads.at(-1) ?? mapOf({}))).toEqual(['a', 'b']);
    expect(up.stats).toMatchObject({ returns: 2, retries: 3, lost: 0 });
    expect(told).toEqual([
      'the master above is unreachable: its events wait',
      'the master above takes events again',
    ]);
  });

  test('the load goes with the sending that arrives', async () => {
    const { lane: up, above, signal } = lane();
    above.answers = ['away', 'taken'];
    await up.forward([returned('a')], signal);
    const loads = above.loads.flatMap(parseSyndicReturn).map(({ load }) => load.size);
    expect(loads).toEqual([2, 2]);
  });

  test('events that are older than masters keep are given up, and the rest goes up', async () => {
    const { lane: up, above, told, signal } = lane();
    above.answers = ['away', 'taken'];
    const old = returned('a', JID, NOW - 3_600_001);
    const young = returned('b');
    await up.forward([old, young], signal);
    expect([old.acked, young.acked]).toEqual([1, 1]);
    expect(above.minionsOf(above.loads.at(-1) ?? mapOf({}))).toEqual(['b']);
    expect(up.stats).toMatchObject({ returns: 1, lost: 1 });
    expect(told).toContain('given up on the way up');
  });

  test('at the end events in hand are given back, those that were taken are not', async () => {
    const { lane: up, above } = lane();
    const ending = new AbortController();
    above.answers = ['taken', 'away'];
    const event = new TestEvent('e', 'salt/auth', mapOf({ act: 'accept' }));
    const kept = returned('a');
    above.send = ((send) => (load: SaltMap) => {
      if (above.loads.length === 1) ending.abort(new Error('the end'));
      return send(load);
    })(above.send.bind(above));
    await expect(up.forward([event, kept], ending.signal)).rejects.toThrow('the end');
    expect([kept.acked, kept.givenBack]).toEqual([0, 1]);
    expect(event.acked).toBe(1);
  });
});

test('one bad return delays no other, and is given up in the end', async () => {
  const { lane: up, above, signal } = lane();
  above.refuses = 'c';
  const events = ['a', 'b', 'c', 'd', 'e'].map((id) => returned(id));
  await up.forward(events, signal);
  expect(events.map(({ acked }) => acked)).toEqual([1, 1, 1, 1, 1]);
  expect(up.stats).toMatchObject({ returns: 4, lost: 1 });
});

describe('other events', () => {
  test('go up under the tag of the syndic, before the returns that came with them', async () => {
    const { lane: up, above, signal } = lane();
    const list = mapOf({ jid: JID, minions: ['a'] });
    const fresh = new TestEvent('n', `salt/job/${JID}/new`, list);
    await up.forward([returned('a'), fresh], signal);
    expect(above.loads.map((load) => textOf(load, 'cmd'))).toEqual([
      '_minion_event',
      '_syndic_return',
    ]);
    expect(parseMinionEvent(above.loads[0] ?? mapOf({}))).toEqual({
      kind: 'list',
      id: 'syn',
      pretag: 'syndic/syn',
      events: [{ tag: `salt/job/${JID}/new`, data: list }],
      unfit: 0,
    });
  });

  test('are no news after ten minutes, but the list of minions that will return is', async () => {
    const { lane: up, above, signal } = lane();
    const stale = new TestEvent('1', 'salt/auth', mapOf({ act: 'accept' }), NOW - 600_001);
    const list = mapOf({ minions: ['a'] });
    const kept = new TestEvent('2', `salt/job/${JID}/new`, list, NOW - 600_001);
    await up.forward([stale, kept], signal);
    const [load] = above.loads;
    expect(listOf(load ?? mapOf({}), 'events')).toHaveLength(1);
    expect(stale.acked).toBe(1);
    expect(up.stats).toMatchObject({ events: 1, stale: 1 });
  });

  test('that can not be read are counted and delay nothing', async () => {
    const { lane: up, above, signal } = lane();
    const gone = new TestEvent('x', 'salt/auth', undefined);
    await up.forward([gone, returned('a')], signal);
    expect(gone.acked).toBe(1);
    expect(above.loads).toHaveLength(1);
    expect(up.stats.lost).toBe(1);
  });
});

test('a large group goes in requests of a bounded size', async () => {
  const { lane: up, above, signal } = lane();
  const events = Array.from({ length: 450 }, (_, n) => returned(`m${n}`));
  await up.forward(events, signal);
  expect(above.loads.map((load) => above.minionsOf(load).length)).toEqual([200, 200, 50]);
  expect(mapIn(above.loads[0] ?? mapOf({}), 'load')).toBeUndefined();
});
