import type { FleetCount } from '@brine/job-cache';
import { Metrics } from '@brine/service';
import { expect, test } from 'vitest';
import { fleetFamilies } from './fleet-metrics.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

async function told(counts: readonly FleetCount[], maxMinionLabels = 3): Promise<string> {
  const metrics = new Metrics({ service: 'job-cache-returner' });
  metrics.families(() =>
    Promise.resolve(
      fleetFamilies(counts, {
        maxMinionLabels,
        traced: (jid) => (jid === undefined ? undefined : { traceId: TRACE }),
        example: (_fun, bucket) => (bucket === 1 ? { jid: '1', ms: 3, at: 4_000 } : undefined),
      }),
    ),
  );
  return metrics.text('openmetrics');
}

const count = (metric: FleetCount['metric'], value: number, ...labels: string[]): FleetCount => {
  return { metric, labels, value };
};

test('one count is shown under the names of salt-exporter and of Salt 3008', async () => {
  const text = await told([
    count('jobs', 2, 'state.sls', 'web'),
    count('jobs', 3, 'state.sls', 'db'),
    count('returns', 4, 'state.sls', 'web', 'true'),
    count('scheduled', 5, 'state.sls', 'db', 'true'),
    count('duration', 6, 'state.sls', '1'),
    count('duration', 7, 'state.sls', '14'),
    count('duration_sum', 800, 'state.sls'),
  ]);
  expect(text).toContain('salt_new_job_total{function="state.sls",state="web"} 2\n');
  expect(text).toContain('salt_jobs_published_total{fun="state.sls"} 5\n');
  expect(text).toContain('salt_jobs_completed_total{fun="state.sls",success="true"} 9\n');
  const name = 'salt_job_duration_milliseconds';
  expect(text).toContain(
    `${name}_bucket{fun="state.sls",le="5.0"} 6 # {trace_id="${TRACE}"} 3 4.000\n`,
  );
  expect(text).toContain(`${name}_bucket{fun="state.sls",le="+Inf"} 13\n`);
  expect(text).toContain(`${name}_sum{fun="state.sls"} 800\n${name}_count{fun="state.sls"} 13\n`);
});

test('too many minions are counted together, and their sum stays right', async () => {
  const minions = ['a', 'b', 'c', 'd'].map((id, n) => count('responses', n + 1, id, 'true'));
  const status = count('function_status', 1, 'a', 'state.highstate', 'highstate');
  const few = await told([...minions.slice(0, 3), status]);
  expect(few).toContain('salt_responses_total{minion="c",success="true"} 3\n');
  expect(few).toContain('salt_function_status{minion="a",');
  const many = await told([...minions, status]);
  expect(many).toContain('salt_responses_total{minion="other",success="true"} 10\n');
  expect(many).not.toContain('minion="a"');
});
