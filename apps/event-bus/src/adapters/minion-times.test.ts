import { Metrics } from '@brine/service';
import { expect, test } from 'vitest';
import { MinionTimes } from './minion-times.ts';

const ret = (minion: string, timeMs: number) => {
  return { tag: `salt/job/20261120100000000001/ret/${minion}`, minion, timeMs };
};

async function told(accepted: readonly string[], max: number, events: readonly object[]) {
  const metrics = new Metrics();
  const times = new MinionTimes(() => accepted, max);
  times.expose(metrics);
  for (const event of events) times.saw(event as Parameters<MinionTimes['saw']>[0]);
  return metrics.text();
}

test('a status beacon is a heartbeat, any event is a sign of life', async () => {
  const text = await told(['a', 'b'], 10, [
    ret('a', 5_000_000),
    { tag: 'salt/beacon/a/status/2026', minion: 'a', timeMs: 7_000_000 },
    { tag: 'salt/beacon/b/load/', minion: 'b', timeMs: 9_000_000 },
    ret('stranger', 1_000),
  ]);
  expect(text).toContain('salt_health_last_heartbeat{minion="a"} 7000\n');
  expect(text).toContain('salt_responses_last_received_response{minion="a"} 7000\n');
  expect(text).toContain('salt_responses_last_received_response{minion="b"} 9000\n');
  expect(text).toContain('salt_health_minions_total 2\n');
  expect(text).not.toContain('stranger');
  // No beacon yet: it counts from now on, as salt-exporter has it.
  const beat = /salt_health_last_heartbeat\{minion="b"\} (\d+)/.exec(text)?.[1];
  expect(Number(beat) * 1000).toBeGreaterThan(Date.now() - 60_000);
});

test('with too many minions none is named, and the memory is bounded', async () => {
  const many = Array.from({ length: 50 }, (_, n) => `m${n}`);
  const text = await told(
    many,
    10,
    many.map((minion) => ret(minion, 1_000)),
  );
  expect(text).toContain('salt_health_minions_total 50\n');
  expect(text).not.toContain('{minion=');
});

test('events are wanted while there may be metrics of each minion', () => {
  const wanted = (minions: number, max: number): boolean =>
    new MinionTimes(() => Array.from({ length: minions }, (_, n) => `m${n}`), max).wanted;
  expect([wanted(0, 10), wanted(10, 10), wanted(11, 10), wanted(0, 0)]).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
