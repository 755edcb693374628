import { expect, test } from 'vitest';
import { Metrics } from './metrics.ts';

test('metrics are written in the text format of Prometheus', () => {
  const metrics = new Metrics();
  const jobs = metrics.counter('salt_new_job_total', 'Jobs.');
  jobs.add(1, { function: 'test.ping' });
  jobs.add(2, { function: 'test.ping' });
  jobs.add(1, { function: 'say "hi"\n' });
  metrics.gauge('queue', 'Waiting.').set(3);
  metrics.gaugeOf('now', 'Asked.', () => 7);
  const times = metrics.histogram('salt_job_duration_seconds', 'Time.');
  times.observe(0.2);
  times.observe(99);
  const text = metrics.text();
  expect(text).toContain('# HELP salt_new_job_total Jobs.\n# TYPE salt_new_job_total counter\n');
  expect(text).toContain('salt_new_job_total{function="test.ping"} 3\n');
  expect(text).toContain('salt_new_job_total{function="say \\"hi\\"\\n"} 1\n');
  expect(text).toContain('queue 3\n');
  expect(text).toContain('now 7\n');
  expect(text).toContain('salt_job_duration_seconds_bucket{le="0.1"} 0\n');
  expect(text).toContain('salt_job_duration_seconds_bucket{le="0.25"} 1\n');
  expect(text).toContain('salt_job_duration_seconds_bucket{le="+Inf"} 2\n');
  expect(text).toContain('salt_job_duration_seconds_count 2\n');
});

test('the same name is the same metric, and never of two types', () => {
  const metrics = new Metrics();
  metrics.counter('a_total', 'A.').add();
  metrics.counter('a_total', 'A.').add();
  expect(metrics.text()).toContain('a_total 2\n');
  expect(() => metrics.gauge('a_total', 'A.')).toThrow('is a counter already');
});

test('labels can not fill the memory', () => {
  const metrics = new Metrics();
  const returns = metrics.counter('returns_total', 'Returns.');
  for (let i = 0; i < 5000; i += 1) returns.add(1, { minion: `m${i}` });
  const lines = metrics.text().split('\n');
  expect(lines.length).toBeLessThan(1010);
  expect(lines).toContain('returns_total{minion="other"} 4000');
});
