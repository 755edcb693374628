import { until } from '@brine/testing/waits';
import { describe, expect, test } from 'vitest';
import type { EngineContext, EngineEvent } from '../engine.ts';
import { deliverBatches, deliverEach, NotTakenError } from './deliver.ts';

/** An engine that is given so many events, and its notes of them. */
function engineWith(events: readonly Partial<EngineEvent>[]) {
  const stop = new AbortController();
  const done: string[] = [];
  const logged: string[] = [];
  const figures: Record<string, unknown> = {};
  async function* given(): AsyncGenerator<EngineEvent> {
    for (const [at, event] of events.entries()) {
      const tag = event.tag ?? `t${at}`;
      yield { id: String(at), tag, data: {}, timeMs: 0, ...event, done: () => done.push(tag) };
    }
  }
  const engine = {
    name: 'e',
    masterId: 'm',
    stopping: stop.signal,
    events: given,
    log: (_level: string, text: string) => logged.push(text),
    tell: (more: object) => Object.assign(figures, more),
  } as unknown as EngineContext;
  return { engine, done, logged, figures, stop };
}

const retries = { firstMs: 1, longestMs: 2 };
const tags = (count: number) => Array.from({ length: count }, (_, at) => ({ tag: `t${at}` }));

describe('each event is sent until it is taken', () => {
  test('in its order, one after the other', async () => {
    const { engine, done, figures, logged } = engineWith(tags(3));
    const tries: string[] = [];
    await deliverEach(engine, { atOnce: 1, retries }, async ({ tag }) => {
      tries.push(tag);
      if (tag === 't1' && tries.filter((one) => one === 't1').length < 3) throw new Error('away');
    });
    expect(tries).toEqual(['t0', 't1', 't1', 't1', 't2']);
    expect(done).toEqual(['t0', 't1', 't2']);
    expect(figures).toMatchObject({ taken: 3, retries: 2, down: 0 });
    // Told once when it went away, once when it came back.
    expect(logged).toHaveLength(2);
  });

  test('one that is refused for good is left out, and told', async () => {
    const { engine, done, figures, logged } = engineWith(tags(2));
    await deliverEach(engine, { atOnce: 1, retries }, async ({ tag }) => {
      if (tag === 't0') throw new NotTakenError('400');
    });
    expect(done).toEqual(['t0', 't1']);
    expect(figures).toMatchObject({ taken: 1, refused: 1 });
    expect(logged[0]).toContain('400');
  });

  test('several at a time, and no more', async () => {
    const { engine } = engineWith(tags(20));
    let underWay = 0;
    let most = 0;
    await deliverEach(engine, { atOnce: 4 }, async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise(setImmediate);
      underWay -= 1;
    });
    expect(most).toBe(4);
  });

  test('what is not taken when the engine stops is not done', async () => {
    const { engine, done, stop } = engineWith(tags(1));
    let tries = 0;
    const over = deliverEach(engine, { atOnce: 2, retries }, async () => {
      tries += 1;
      throw new Error('away');
    });
    await until('it was tried again', () => tries > 2);
    stop.abort();
    await over;
    expect(done).toEqual([]);
  });

  test('funs lets events of others and those without one pass', async () => {
    const { engine, done } = engineWith([
      { tag: 'a', data: { fun: 'test.ping' } },
      { tag: 'b', data: { fun: 'cmd.run' } },
      { tag: 'c', data: {} },
    ]);
    const sent: string[] = [];
    await deliverEach(engine, { atOnce: 1, funs: ['test.ping'] }, async ({ tag }) => {
      sent.push(tag);
    });
    expect(sent).toEqual(['a', 'c']);
    expect(done).toEqual(['a', 'b', 'c']);
  });
});

describe('batches', () => {
  test('have what is there, in order, up to a bound', async () => {
    const { engine, done } = engineWith(tags(25));
    const batches: string[][] = [];
    await deliverBatches(engine, { most: 10, retries }, async (events) => {
      batches.push(events.map(({ tag }) => tag));
    });
    expect(batches.every((batch) => batch.length <= 10)).toBe(true);
    expect(batches.flat()).toEqual(tags(25).map(({ tag }) => tag));
    expect(done).toHaveLength(25);
  });

  test('are sent again as they were', async () => {
    const { engine } = engineWith(tags(3));
    const batches: string[] = [];
    await deliverBatches(engine, { most: 10, retries }, async (events) => {
      batches.push(events.map(({ tag }) => tag).join());
      if (batches.length === 1) throw new Error('away');
    });
    expect(new Set(batches).size).toBe(1);
  });

  test('with an event that is refused for good lose only that one', async () => {
    const { engine, done, figures, logged } = engineWith(tags(5));
    const taken: string[] = [];
    await deliverBatches(engine, { most: 10, retries }, async (events) => {
      if (events.some(({ tag }) => tag === 't2')) throw new NotTakenError('too large');
      taken.push(...events.map(({ tag }) => tag));
    });
    expect(taken).toEqual(['t0', 't1', 't3', 't4']);
    expect(done).toEqual(['t0', 't1', 't2', 't3', 't4']);
    expect(figures).toMatchObject({ taken: 4, refused: 1, retries: 0 });
    expect(logged).toEqual(['t2: not taken and left out: too large']);
  });
});
