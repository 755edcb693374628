import { SimpleGrid, Stack, Title } from '@mantine/core';
import { FirstMinutePanel } from './first-minute-panel.tsx';
import { FleetPanel } from './fleet-panel.tsx';
import { OddPanel } from './odd-panel.tsx';
import { OpenJobsPanel } from './open-jobs-panel.tsx';
import { useOverview } from './use-overview.ts';
import { VersionsPanel } from './versions-panel.tsx';
import { WorkPanel } from './work-panel.tsx';

/** Is anything not as it should be? */
export function OverviewPage() {
  const { overview, perSecond } = useOverview();
  return (
    <Stack gap="sm">
      <Title order={1}>Overview</Title>
      <FirstMinutePanel overview={overview.data} />
      <OddPanel overview={overview} />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="sm">
        <FleetPanel source={overview} overview={overview.data} />
        <WorkPanel source={overview} overview={overview.data} perSecond={perSecond} />
        <OpenJobsPanel />
        <VersionsPanel source={overview} overview={overview.data} />
      </SimpleGrid>
    </Stack>
  );
}
