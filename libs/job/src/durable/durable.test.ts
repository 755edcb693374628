import { describe, expect, test } from 'vitest';
import { DurableWorld, START } from '../../test/durable-world.ts';
import { confirmDurable, durablePieces, IDLE, noteLogIns, stepDurable } from './durable.ts';

const HOUR = 3_600_000;

describe('the rule of durable jobs', () => {
  test('a job that all return is closed without a question', () => {
    const world = new DurableWorld(['a', 'b'], HOUR);
    world.publish();
    world.runTo(START + HOUR);
    expect(world.state.closed).toBe('complete');
    expect(world.questions).toBe(0);
  });

  test('a minion that was away gets it once it is back, log-in or not; others do not', () => {
    const world = new DurableWorld(['a', 'b'], 2 * HOUR);
    world.of('b').there = false;
    world.publish();
    world.runTo(START + HOUR);
    expect(world.of('b').runs).toBe(0);
    expect(world.sendings).toEqual([]);
    world.of('b').there = true;
    world.runTo(START + HOUR + 300_000 + 10_000);
    expect(world.sendings).toEqual([['b']]);
    expect([world.of('a').runs, world.of('b').runs]).toEqual([1, 1]);
    expect(world.state.closed).toBe('complete');
  });

  test('a log-in makes it sooner, for that minion alone', () => {
    const world = new DurableWorld(['a', 'b', 'c'], 24 * HOUR);
    for (const minion of world.minions.values()) minion.there = false;
    world.publish();
    world.runTo(START + 5 * HOUR);
    // Between two turns: one that is under way is ended first, after 10 s.
    while (world.state.look !== IDLE) world.runTo(world.now + 1_000);
    world.of('b').there = true;
    world.logIn('b');
    world.runTo(world.now + 6_000);
    expect(world.sendings).toEqual([['b']]);
    expect(world.of('b').runs).toBe(1);
    expect(world.state.closed).toBeUndefined();
  });

  test('a minion that answers too late for a turn gets it in the next', () => {
    const world = new DurableWorld(['a'], HOUR);
    world.of('a').there = false;
    world.publish();
    world.runTo(START + HOUR / 4);
    world.of('a').there = true;
    world.of('a').answersAfterMs = 30_000;
    world.runTo(START + HOUR / 2);
    expect(world.sendings).toEqual([['a']]);
    expect(world.of('a').runs).toBe(1);
  });

  test('a log-in during a turn counts after it, one of before it does not', () => {
    const world = new DurableWorld(['a'], HOUR);
    world.of('a').there = false;
    world.publish();
    world.runTo(START + 10_000);
    expect(world.state.look).toBe(1);
    const early = noteLogIns(world.state, new Map([['a', START + 9_000]]));
    expect(early.heard.size).toBe(0);
    world.logIn('a');
    world.now += 1;
    world.logIn('a');
    expect(world.state.look).toBe(1);
    expect([...world.state.heard.keys()]).toEqual(['a']);
  });

  test('a minion that answered no, and returned meanwhile by another rule, is left out', () => {
    const world = new DurableWorld(['a', 'b'], HOUR);
    for (const minion of world.minions.values()) minion.there = false;
    world.publish();
    for (const minion of world.minions.values()) minion.there = true;
    world.runTo(START + 10_000);
    expect(world.state.look).toBe(1);
    world.of('a').get('j', world.now);
    world.runTo(START + HOUR);
    expect(world.sendings).toEqual([['b']]);
  });

  test('at the very end of its time no minion is asked or gets it', () => {
    const world = new DurableWorld(['a'], HOUR);
    const { notAfter } = world.state;
    const facts = { waiting: ['a'], answers: new Map([['a', false]]), sent: new Map() };
    const last = stepDurable({ ...world.state, regularAt: 0 }, facts, notAfter - 1, 'p');
    expect(last.action).toEqual({ kind: 'ask', minions: ['a'] });
    const looking = { ...confirmDurable(last.state, notAfter - 1), dueAt: notAfter };
    expect(stepDurable(looking, facts, notAfter - 1, 'p').action?.kind).toBe('send');
    for (const state of [world.state, last.state, looking]) {
      const step = stepDurable(state, facts, notAfter, 'p');
      expect(step).toMatchObject({ action: undefined, state: { closed: 'expired' } });
    }
  });

  test('after its time no minion gets it', () => {
    const world = new DurableWorld(['a'], HOUR);
    world.of('a').there = false;
    world.publish();
    world.runTo(START + HOUR);
    expect(world.state.closed).toBe('expired');
    world.of('a').there = true;
    world.logIn('a');
    world.runTo(START + 3 * HOUR);
    expect(world.of('a').runs).toBe(0);
    expect(world.sendings).toEqual([]);
  });

  test('a minion that runs it is asked but does not get it, however long it runs', () => {
    const world = new DurableWorld(['a'], 4 * HOUR);
    world.of('a').runsMs = 2 * HOUR;
    world.publish();
    world.runTo(START + HOUR);
    expect(world.questions).toBeGreaterThan(10);
    expect(world.sendings).toEqual([]);
    world.runTo(START + 3 * HOUR);
    expect(world.of('a').runs).toBe(1);
    expect(world.state.closed).toBe('complete');
  });

  test('a minion whose return is lost gets it three times at most: it keeps the jid', () => {
    const world = new DurableWorld(['a'], 24 * HOUR);
    world.of('a').returns = false;
    world.publish();
    world.runTo(START + 23 * HOUR);
    expect(world.of('a').runs).toBe(1);
    expect(world.sendings).toHaveLength(3);
    expect(world.of('a').asked).toBe(3);
  });

  test('after a restart or 150 jobs a minion without a return may run it once per log-in', () => {
    const world = new DurableWorld(['a', 'b'], 24 * HOUR);
    world.of('a').returns = false;
    world.of('b').returns = false;
    world.publish();
    world.runTo(START + HOUR);
    world.of('a').restart();
    world.of('b').works(150);
    world.logIn('a', 'b');
    world.runTo(START + 20 * HOUR);
    expect(world.of('a').runs).toBe(2);
    expect(world.of('b').runs).toBe(2);
  });

  test('an owner that dies at any action skips no minion, and none runs twice', () => {
    for (const crash of [2, 3, 5]) {
      const ids = Array.from({ length: 50 }, (_, n) => `m${n}`);
      const world = new DurableWorld(ids, 24 * HOUR);
      for (const minion of world.minions.values()) minion.there = false;
      world.publish();
      for (const [index, id] of ids.entries()) {
        world.runTo(START + index * 600_000, crash);
        world.of(id).there = true;
        if (index % 2 === 0) world.logIn(id);
      }
      world.runTo(START + 23 * HOUR, crash);
      expect([...world.minions.values()].map(({ runs }) => runs)).toEqual(ids.map(() => 1));
      expect(world.state.closed).toBe('complete');
    }
  });

  test('questions become rarer, and rarer still if many minions are away', () => {
    const day = new DurableWorld(['a'], 24 * HOUR);
    day.of('a').there = false;
    day.runTo(START + 24 * HOUR);
    expect(day.questions).toBeLessThan(400);
    const ids = Array.from({ length: 100_000 }, (_, n) => `minion-${n}.example.com`);
    expect(durablePieces(ids)).toHaveLength(100);
    expect(durablePieces(ids).flat().join()).toBe(ids.join());
    const now = START + HOUR / 6;
    const pauses = [1, 20_000].map((count) => {
      const facts = { waiting: ids.slice(0, count), answers: new Map(), sent: new Map() };
      return stepDurable(new DurableWorld([], HOUR).state, facts, now, 'p').state.regularAt - now;
    });
    expect(pauses).toEqual([60_000, 120_000]);
  });
});
