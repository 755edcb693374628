import type { Overview } from '@brine/api/fleet';
import { Stack, Text } from '@mantine/core';
import { BarChart } from '../../parts/bars/bar-chart.tsx';
import { Empty, Panel, type Source } from '../../parts/panel.tsx';

interface WorkPanelProps {
  readonly source: Source;
  readonly overview: Overview | undefined;
  /** Returns of each of the last seconds. */
  readonly perSecond: readonly number[];
}

/** How much the master does. */
export function WorkPanel({ source, overview, perSecond }: WorkPanelProps) {
  const jobs = overview?.jobs ?? null;
  const minutes = jobs?.perMinute ?? [];
  return (
    <Panel title="Work" source={source}>
      {jobs === null ? (
        <Empty>The job cache can not be asked now: the numbers of jobs come back with it.</Empty>
      ) : (
        <Stack gap="xs">
          <BarChart
            title="Jobs per minute, last hour"
            thing="Jobs"
            step="minute"
            values={minutes.map((one) => one.jobs)}
          />
          <BarChart
            title="Returns per minute, last hour"
            thing="Returns"
            step="minute"
            values={minutes.map((one) => one.returns)}
          />
          <BarChart
            title="Returns per second, last minute"
            thing="Returns"
            step="second"
            values={perSecond}
          />
          {!jobs.isWhole && (
            <Text size="sm" c="dimmed">
              Only the newest 20,000 jobs are counted.
            </Text>
          )}
        </Stack>
      )}
    </Panel>
  );
}
