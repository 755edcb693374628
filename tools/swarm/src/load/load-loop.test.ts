import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Done, LoadLoop, type Work } from './load-loop.ts';

/** Work of which a test says when it is done. */
class Held implements Work {
  readonly held: Done[] = [];
  most = 0;
  readonly begin = (done: Done): boolean => {
    this.held.push(done);
    this.most = Math.max(this.most, this.held.length);
    return true;
  };
}

function virtualTime(): void {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
}

const CLOSED = { durationMs: 60_000, ratePerSecond: undefined };

describe('LoadLoop', () => {
  it('keeps so many on their way, no more, until the count is reached', async () => {
    const work = new Held();
    const running = new LoadLoop(work, { ...CLOSED, inFlight: 3, count: 10 }).run();
    let done = 0;
    while (done < 10) {
      expect(work.held.length).toBe(Math.min(3, 10 - done));
      work.held.shift()?.('answered', 0);
      done += 1;
    }
    expect(await running).toMatchObject({ sent: 10, answered: 10, unsent: 0 });
    expect(work.most).toBe(3);
  });

  it('counts every end, and sends of the same again', async () => {
    const work = new Held();
    const running = new LoadLoop(work, { ...CLOSED, inFlight: 3, count: 3 }).run();
    work.held[0]?.('answered', 1);
    work.held[1]?.('refused', 2);
    work.held[2]?.('timed-out', 2);
    expect(await running).toMatchObject({ answered: 1, refused: 1, timedOut: 1, resent: 5 });
  });

  it('ends with the time, and waits for work on its way', async () => {
    virtualTime();
    const work = new Held();
    const loop = { inFlight: 2, count: Infinity, durationMs: 20, ratePerSecond: undefined };
    const running = new LoadLoop(work, loop).run();
    let over = false;
    void running.then(() => (over = true));
    await vi.advanceTimersByTimeAsync(40);
    expect(over).toBe(false);
    for (const done of work.held.splice(0)) done('answered', 0);
    expect(await running).toMatchObject({ sent: 2, answered: 2 });
  });

  it('at a rate, a request that had to wait counts its latency from when it was due', async () => {
    virtualTime();
    const work = new Held();
    const loop = { inFlight: 1, count: 5, durationMs: 60_000, ratePerSecond: 1000 };
    const running = new LoadLoop(work, loop).run();
    await vi.advanceTimersByTimeAsync(100);
    expect(work.held).toHaveLength(1);
    while (work.held.length > 0) work.held.shift()?.('answered', 0);
    const report = await running;
    expect(report.sent).toBe(5);
    // The fifth was due after 4 ms and begun when the first, held for 100 ms, was answered.
    expect(report.latencies.maxMs).toBeGreaterThan(95);
    expect(report.latencies.counts.reduce((sum, count) => sum + count, 0)).toBe(5);
  });

  it('asks again when the work could not begin', async () => {
    const work = new Held();
    let refusals = 3;
    const busy: Work = {
      begin: (done) => {
        refusals -= 1;
        return refusals < 0 && work.begin(done);
      },
    };
    const running = new LoadLoop(busy, { ...CLOSED, inFlight: 1, count: 1 }).run();
    await expect.poll(() => work.held.length).toBe(1);
    work.held[0]?.('answered', 0);
    expect(await running).toMatchObject({ sent: 1 });
  });
});
