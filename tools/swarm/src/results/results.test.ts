import { describe, expect, it } from 'vitest';
import { drawResults, isComplete } from '../command/report.ts';
import type { Answers, Effort } from '../messages.ts';
import { bottleneckOf } from './effort.ts';
import { Latencies } from './latencies.ts';
import { jobResult, loadResult } from './results.ts';

const IDLE: Effort = { wallMs: 1000, cpuMs: 100, cpuShare: 0.1, lagP99Ms: 1, lagMaxMs: 2 };

function answer(firstMs: number, lastMs: number, times: number[], effort = IDLE): Answers['load'] {
  const latencies = new Latencies();
  for (const ms of times) latencies.add(ms);
  const none = { refused: 0, timedOut: 0, resent: 0, unsent: 0 };
  const counts = { sent: times.length, answered: times.length, ...none };
  return { report: { ...counts, firstMs, lastMs, latencies: latencies.data() }, effort };
}

describe('the result of a storm', () => {
  it('adds up processes over the time from the first start to the last answer', () => {
    const result = loadResult([answer(1000, 2000, [1, 2, 3]), answer(1500, 3000, [100])]);
    expect(result).toMatchObject({ sent: 4, answered: 4, seconds: 2, perSecond: 2, maxMs: 100 });
    expect(result.rigMicros).toBe(50_000);
    expect(result.bottleneck).toBeUndefined();
  });

  it('says so where a process of the rig was too slow', () => {
    const busy = { ...IDLE, cpuShare: 0.95 };
    const late = { ...IDLE, lagP99Ms: 80 };
    expect(bottleneckOf([IDLE, busy])).toBe('rig process 1 used 95 % of a core');
    expect(bottleneckOf([late])).toBe('the event loop of rig process 0 was 80 ms late');
    // Of a blink nothing can be said.
    expect(bottleneckOf([{ ...busy, wallMs: 50 }])).toBeUndefined();
    const load = loadResult([answer(0, 1000, [1], busy)]);
    expect(drawResults([{ step: 'returns', load }])).toMatch(
      /returns: the rig itself was too slow/,
    );
  });
});

describe('the result of a job', () => {
  const parts = [5, 9].map((at) => {
    const latencies = new Latencies();
    latencies.add(at);
    const counts = { reached: 1, returned: 1, acknowledged: 1, lost: 0, resends: 1 };
    const report = { ...counts, reachedLast: 100 + at, ackedLast: 100 + 2 * at };
    return { report: { ...report, latencies: latencies.data() }, effort: IDLE };
  });
  const about = { answer: { jid: '1', minions: [] }, sinceMs: 100, repliedMs: 103, parts };

  it('has the last moment of all processes', () => {
    const job = jobResult({ ...about, targeted: 2 });
    expect(job).toMatchObject({ reached: 2, acknowledged: 2, resends: 2, replyMs: 3 });
    expect(job).toMatchObject({ reachedLastMs: 9, lastAckMs: 18 });
    expect(isComplete({ step: 'publish', job })).toBe(true);
    expect(drawResults([{ step: 'publish', job }])).toContain('2 targeted, 2 reached');
  });

  it('is not complete when a targeted minion is missing', () => {
    const job = jobResult({ ...about, targeted: 3 });
    expect(isComplete({ step: 'publish', job })).toBe(false);
  });
});
