import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LateWakes } from './late-wakes.ts';

describe('late wakes', () => {
  beforeEach(
    () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }),
  );
  afterEach(() => void vi.useRealTimers());

  it('wakes a few times after a start, ever more rarely, and then rests', () => {
    const at: number[] = [];
    const wakes = new LateWakes(() => at.push(Math.round(performance.now() - startedAt)));
    const startedAt = performance.now();
    wakes.start();
    vi.advanceTimersByTime(60_000);
    expect(at).toEqual([50, 150, 400, 1000, 2500]);
  });

  it('a later start begins again', () => {
    let count = 0;
    const wakes = new LateWakes(() => count++);
    wakes.start();
    vi.advanceTimersByTime(200);
    expect(count).toBe(2);
    wakes.start();
    vi.advanceTimersByTime(60_000);
    expect(count).toBe(7);
  });

  it('a stop ends it', () => {
    let count = 0;
    const wakes = new LateWakes(() => count++);
    wakes.start();
    wakes.stop();
    vi.advanceTimersByTime(60_000);
    expect(count).toBe(0);
  });
});
