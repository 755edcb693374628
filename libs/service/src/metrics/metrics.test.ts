import parseText from 'parse-prometheus-text-format';
import { expect, test } from 'vitest';
import { joinExpositions } from './exposition.ts';
import { Metrics } from './metrics.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

test('metrics are written in the text format of Prometheus', async () => {
  const metrics = new Metrics();
  const jobs = metrics.counter('salt_new_job_total', 'Jobs.');
  jobs.add(1, { function: 'test.ping' });
  jobs.of({ function: 'test.ping' }).add(2);
  jobs.add(1, { function: 'say "hi"\n\\' });
  metrics.gauge('queue', 'Waiting.').set(3);
  metrics.gaugeOf('now', 'Asked.', () => 7);
  metrics.counterOf('asked_total', 'Each.', () => [{ labels: { of: 'a' }, value: 2 }]);
  const times = metrics.histogram('job_seconds', 'Time.', { buckets: [0.1, 0.25, 5] });
  times.observe(0.2);
  times.observe(99, {}, () => ({ traceId: TRACE }));
  const text = await metrics.text();
  expect(text).toContain('# HELP salt_new_job_total Jobs.\n# TYPE salt_new_job_total counter\n');
  expect(text).toContain('salt_new_job_total{function="test.ping"} 3\n');
  expect(text).toContain('salt_new_job_total{function="say \\"hi\\"\\n\\\\"} 1\n');
  expect(text).toContain('queue 3\n');
  expect(text).toContain('now 7\n');
  expect(text).toContain('asked_total{of="a"} 2\n');
  expect(text).toContain('job_seconds_bucket{le="0.1"} 0\n');
  expect(text).toContain('job_seconds_bucket{le="0.25"} 1\n');
  expect(text).toContain('job_seconds_bucket{le="5.0"} 1\n');
  expect(text).toContain('job_seconds_bucket{le="+Inf"} 2\n');
  expect(text).toContain('job_seconds_sum 99.2\njob_seconds_count 2\n');
});

test('an independent parser reads the counts', async () => {
  const metrics = new Metrics({ service: 'worker-pool', replica: 'worker-pool-1' });
  metrics.counter('odd_total', 'With "quotes" and \\ in it.').add(4, { text: 'a"b\\c\r\nd,e={}' });
  metrics.histogram('spread_seconds', 'Time.', { buckets: [1, 2] }).observe(1.5, { of: 'x' });
  const families = parseText(await metrics.text());
  const labels = { service: 'worker-pool', replica: 'worker-pool-1' };
  expect(families).toContainEqual({
    name: 'odd_total',
    help: 'With "quotes" and \\ in it.',
    type: 'COUNTER',
    metrics: [{ value: '4', labels: { ...labels, text: 'a"b\\c \nd,e={}' } }],
  });
  // This parser keeps but the buckets of a histogram with labels.
  expect(families.find(({ name }) => name === 'spread_seconds')).toMatchObject({
    help: 'Time.',
    type: 'HISTOGRAM',
    metrics: [{ buckets: { '1.0': '0', '2.0': '1', '+Inf': '1' } }],
  });
});

test('OpenMetrics has exemplars, counters without their ending, and an end', async () => {
  const metrics = new Metrics({ service: 's' });
  metrics.counter('jobs_total', 'Jobs.').add();
  const times = metrics.histogram('job_seconds', 'Time.', { buckets: [1] });
  const spanId = '00f067aa0ba902b7';
  times.of({ fun: 'x' }).observe(0.5, () => ({ traceId: TRACE, spanId }));
  const text = await metrics.text('openmetrics');
  expect(text).toContain('# TYPE jobs counter\njobs_total{service="s"} 1\n');
  expect(text).toMatch(
    new RegExp(
      `job_seconds_bucket\\{service="s",fun="x",le="1.0"\\} 1 # \\{trace_id="${TRACE}",` +
        'span_id="00f067aa0ba902b7"\\} 0.5 \\d+\\.\\d{3}\n',
    ),
  );
  expect(text.endsWith('\n# EOF\n')).toBe(true);
  expect(await metrics.text()).not.toContain(TRACE);
});

test('the same name is the same metric, and never of two types', async () => {
  const metrics = new Metrics();
  metrics.counter('a_total', 'A.').add();
  metrics.counter('a_total', 'A.').add();
  expect(await metrics.text()).toContain('a_total 2\n');
  expect(() => metrics.gauge('a_total', 'A.')).toThrow('is a counter already');
  expect(() => metrics.counter('b', 'B.')).toThrow('end in _total');
  expect(() => metrics.histogram('b_total', 'B.')).toThrow('end in _total');
});

test('labels can not fill the memory', async () => {
  const metrics = new Metrics();
  const returns = metrics.counter('returns_total', 'Returns.');
  for (let i = 0; i < 5000; i += 1) returns.add(1, { minion: `m${i}` });
  const text = await metrics.text();
  expect(text.split('\n').length).toBeLessThan(1020);
  expect(text).toContain('returns_total{minion="other"} 4000\n');
  expect(text).toContain('brine_metrics_folded_total 4000\n');
  returns.add(1, { minion: 'x'.repeat(1_000_000) });
  expect((await metrics.text()).length).toBeLessThan(text.length + 1000);
});

test('families that can not be had do not hide the others', async () => {
  const metrics = new Metrics({ service: 's' });
  metrics.families(() => Promise.reject(new Error('away')));
  metrics.families(() =>
    Promise.resolve([
      { name: 'all_total', type: 'counter', help: 'All.', samples: [{ value: 5 }] },
    ]),
  );
  const text = await metrics.text();
  expect(text).toContain('all_total 5\n');
  expect(text).toContain('brine_metrics_failed_readings_total{service="s"} 1\n');
});

test('texts of several services make one, with each family once', async () => {
  const texts = await Promise.all(
    ['a', 'b'].map((replica) => {
      const metrics = new Metrics({ replica });
      metrics.counter('jobs_total', 'Jobs.').add(replica === 'a' ? 1 : 2);
      return metrics.text('openmetrics');
    }),
  );
  const joined = joinExpositions(texts, 'openmetrics').split('\n');
  const head = joined.indexOf('# HELP jobs Jobs.');
  expect(joined.slice(head, head + 4)).toEqual([
    '# HELP jobs Jobs.',
    '# TYPE jobs counter',
    'jobs_total{replica="a"} 1',
    'jobs_total{replica="b"} 2',
  ]);
  expect(joined.filter((line) => line.startsWith('# HELP jobs'))).toHaveLength(1);
  expect(joined.slice(-2)).toEqual(['# EOF', '']);
});

test('10,000 series are written with little CPU', async () => {
  const metrics = new Metrics({ service: 'worker-pool', replica: 'worker-pool-1' });
  for (let metric = 0; metric < 10; metric += 1) {
    const counter = metrics.counter(`m${metric}_total`, 'Some.');
    for (let i = 0; i < 1000; i += 1) counter.add(1, { function: `mod.fun${i}`, state: '' });
  }
  const cost = async (): Promise<number> => {
    const before = process.cpuUsage();
    await metrics.text();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  const costs = [await cost(), await cost(), await cost(), await cost(), await cost()];
  expect(Math.min(...costs)).toBeLessThan(250);
});
