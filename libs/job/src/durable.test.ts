import { describe, expect, test } from 'vitest';
import {
  confirmDurable,
  durablePieces,
  hearLogIns,
  IDLE,
  openDurable,
  stepDurable,
  type DurableState,
} from './durable.ts';

const START = 1_795_000_000_000;
const HOUR = 3_600_000;

/** A stock minion: knows the last 100 jids, answers find_job while it is there. */
class Minion {
  there = true;
  /** Runs the job and returns; some never do. */
  returns = true;
  /** How long a run takes, in ms. */
  runsMs = 0;
  runs = 0;
  returned = false;
  asked = 0;
  /** How long an answer to find_job takes, in ms. */
  answersAfterMs = 0;
  readonly #known: string[] = [];
  #runningUntil = 0;

  get(jid: string, now: number): void {
    if (!this.there || !this.#remember(jid)) return;
    this.runs += 1;
    this.#runningUntil = now + this.runsMs;
    if (this.returns && this.runsMs === 0) this.returned = true;
  }

  answer(probe: string, now: number): boolean | undefined {
    if (!this.there) return undefined;
    this.asked += 1;
    this.#remember(probe);
    return now < this.#runningUntil;
  }

  tick(now: number): void {
    if (this.runs > 0 && now >= this.#runningUntil && this.returns) this.returned = true;
  }

  /** Other jobs of the same master. */
  works(jobs: number): void {
    for (let n = 0; n < jobs; n += 1) this.#remember(`other-${n}-${this.#known.length}`);
  }

  restart(): void {
    this.#known.length = 0;
    this.#runningUntil = 0;
  }

  #remember(jid: string): boolean {
    if (this.#known.includes(jid)) return false;
    this.#known.push(jid);
    if (this.#known.length > 100) this.#known.shift();
    return true;
  }
}

/** Virtual time: one owner that follows the rule, and the minions. */
class World {
  now = START;
  state: DurableState;
  readonly minions = new Map<string, Minion>();
  readonly sent = new Map<string, { count: number; lastAt: number }>();
  readonly sendings: (readonly string[])[] = [];
  questions = 0;
  /** Who said what, and when it came. */
  readonly #answers: { id: string; running: boolean; at: number }[] = [];

  constructor(ids: readonly string[], ttlMs: number) {
    for (const id of ids) this.minions.set(id, new Minion());
    this.state = openDurable({ jid: 'j', publishedAt: START, notAfter: START + ttlMs });
  }

  of(id: string): Minion {
    const minion = this.minions.get(id);
    if (minion === undefined) throw new Error(id);
    return minion;
  }

  publish(): void {
    for (const minion of this.minions.values()) minion.get('j', this.now);
  }

  logIn(...ids: string[]): void {
    this.state = hearLogIns(this.state, new Map(ids.map((id) => [id, this.now])));
  }

  /** Runs to a time; `crash` loses the confirmation of one action in so many. */
  runTo(at: number, crash = 0): void {
    let actions = 0;
    while (this.state.closed === undefined && this.state.dueAt <= at) {
      this.now = Math.max(this.now, this.state.dueAt);
      for (const minion of this.minions.values()) minion.tick(this.now);
      const probe = `probe-${this.now}`;
      const { state, action } = stepDurable(this.state, this.#facts(), this.now, probe);
      this.state = state;
      if (action === undefined) continue;
      if (action.kind === 'ask') this.#ask(action.minions);
      else this.#send(action.minions);
      actions += 1;
      if (crash > 0 && actions % crash === 0) continue;
      if (action.kind === 'send') {
        for (const id of action.minions) {
          const count = (this.sent.get(id)?.count ?? 0) + 1;
          this.sent.set(id, { count, lastAt: this.now });
        }
      }
      this.state = confirmDurable(this.state, this.now);
    }
    this.now = at;
  }

  #facts() {
    const waiting = [...this.minions].filter(([, minion]) => !minion.returned).map(([id]) => id);
    const answers = new Map<string, boolean>();
    const { startedAt, lastStartedAt } = this.state;
    for (const { id, running, at } of this.#answers) {
      if (at > this.now || at < lastStartedAt) continue;
      const counts = running ? at >= startedAt : at > (this.sent.get(id)?.lastAt ?? 0);
      if (counts) answers.set(id, running);
    }
    return { waiting, answers, sent: this.sent };
  }

  #ask(ids: readonly string[]): void {
    this.questions += 1;
    for (const id of ids) {
      const minion = this.of(id);
      const running = minion.answer(this.state.probe, this.now);
      const at = this.now + minion.answersAfterMs;
      if (running !== undefined) this.#answers.push({ id, running, at });
    }
  }

  #send(ids: readonly string[]): void {
    this.sendings.push(ids);
    for (const id of ids) this.of(id).get('j', this.now);
  }
}

describe('the rule of durable jobs', () => {
  test('a job that all return is closed without a question', () => {
    const world = new World(['a', 'b'], HOUR);
    world.publish();
    world.runTo(START + HOUR);
    expect(world.state.closed).toBe('complete');
    expect(world.questions).toBe(0);
  });

  test('who was away gets it once when he is back, without a log-in too; others do not', () => {
    const world = new World(['a', 'b'], 2 * HOUR);
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
    const world = new World(['a', 'b', 'c'], 24 * HOUR);
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

  test('who answers too late for a turn is sent it in the next', () => {
    const world = new World(['a'], HOUR);
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
    const world = new World(['a'], HOUR);
    world.of('a').there = false;
    world.publish();
    world.runTo(START + 10_000);
    expect(world.state.look).toBe(1);
    const early = hearLogIns(world.state, new Map([['a', START + 9_000]]));
    expect(early.heard.size).toBe(0);
    world.logIn('a');
    world.now += 1;
    world.logIn('a');
    expect(world.state.look).toBe(1);
    expect([...world.state.heard.keys()]).toEqual(['a']);
  });

  test('after its time nobody gets it', () => {
    const world = new World(['a'], HOUR);
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

  test('who runs it is asked but not sent it, however long that takes', () => {
    const world = new World(['a'], 4 * HOUR);
    world.of('a').runsMs = 2 * HOUR;
    world.publish();
    world.runTo(START + HOUR);
    expect(world.questions).toBeGreaterThan(10);
    expect(world.sendings).toEqual([]);
    world.runTo(START + 3 * HOUR);
    expect(world.of('a').runs).toBe(1);
    expect(world.state.closed).toBe('complete');
  });

  test('who lost his return is sent it three times at most, and so does not forget that he ran', () => {
    const world = new World(['a'], 24 * HOUR);
    world.of('a').returns = false;
    world.publish();
    world.runTo(START + 23 * HOUR);
    expect(world.of('a').runs).toBe(1);
    expect(world.sendings).toHaveLength(3);
    expect(world.of('a').asked).toBe(3);
  });

  test('who lost his return and restarted, or did 150 jobs, may run it again: once per log-in', () => {
    const world = new World(['a', 'b'], 24 * HOUR);
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

  test('an owner that dies at any action leaves nobody out and nobody runs twice', () => {
    for (const crash of [2, 3, 5]) {
      const ids = Array.from({ length: 50 }, (_, n) => `m${n}`);
      const world = new World(ids, 24 * HOUR);
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

  test('questions become rarer, and rarer still for many who are away', () => {
    const day = new World(['a'], 24 * HOUR);
    day.of('a').there = false;
    day.runTo(START + 24 * HOUR);
    expect(day.questions).toBeLessThan(400);
    const ids = Array.from({ length: 100_000 }, (_, n) => `minion-${n}.example.com`);
    expect(durablePieces(ids)).toHaveLength(100);
    expect(durablePieces(ids).flat().join()).toBe(ids.join());
    const questions = [1, 20_000].map((count) => {
      const world = new World(ids.slice(0, count), HOUR);
      for (const minion of world.minions.values()) minion.there = false;
      world.runTo(START + HOUR / 4);
      return world.questions;
    });
    expect(questions).toEqual([expect.any(Number), expect.any(Number)]);
    expect(questions[1]).toBeLessThan((questions[0] ?? 0) * 0.75);
  });
});
