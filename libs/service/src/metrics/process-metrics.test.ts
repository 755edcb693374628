import { until, workTakes } from '@brine/testing/waits';
import { expect, test } from 'vitest';
import { Metrics } from './metrics.ts';
import { addProcessMetrics } from './process-metrics.ts';

const lagIn = (text: string): number =>
  Number(/^nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(text)?.[1]);

test('a blocked loop shows as its delay, from one scrape to the next', async () => {
  const metrics = new Metrics();
  addProcessMetrics(metrics);
  await metrics.text();
  await until('the lag shows a block of 500 ms', async () => {
    // A look has to be there for the next one to be late.
    await workTakes(250);
    const blockedFrom = performance.now();
    while (performance.now() - blockedFrom < 500);
    await workTakes(250);
    return lagIn(await metrics.text()) > 0.35;
  });
  // Nothing was looked at since.
  expect(lagIn(await metrics.text())).toBe(0);
});
