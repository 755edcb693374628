import { Alert, Drawer, Stack, Table, Text } from '@mantine/core';
import { Given, GivenLines } from '../../../parts/given.tsx';
import { duration } from '../../../state/times.ts';
import type { TraceSpan } from './trace-rows.ts';

/** Attributes of a span that are drawn. */
const ATTRIBUTES_MAX = 100;

interface SpanDrawerProps {
  readonly span: TraceSpan | undefined;
  /** When the trace began, unix ms. */
  readonly zeroMs: number;
  readonly onClose: () => void;
}

/** All that is known of a span. */
export function SpanDrawer({ span, zeroMs, onClose }: SpanDrawerProps) {
  return (
    <Drawer
      position="right"
      opened={span !== undefined}
      onClose={onClose}
      title={span === undefined ? '' : <Given text={span.part} />}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {span !== undefined && (
        <Stack gap="xs">
          <Text size="sm">
            <Given text={span.name} />, {duration(span.endMs - span.startMs)}, from{' '}
            {duration(span.startMs - zeroMs)} on, in <Given text={span.service} /> on{' '}
            <Given text={span.host} />
            {span.isCritical && ', on the critical path'}
          </Text>
          {span.error !== undefined && (
            <Alert color="red" title="Failed">
              <GivenLines text={span.error} />
            </Alert>
          )}
          <Table aria-label="Attributes">
            <Table.Tbody>
              {Object.entries(span.attributes)
                .slice(0, ATTRIBUTES_MAX)
                .map(([name, value]) => (
                  <Table.Tr key={name}>
                    <Table.Th>
                      <Given text={name} />
                    </Table.Th>
                    <Table.Td>
                      <Given text={typeof value === 'string' ? value : JSON.stringify(value)} />
                    </Table.Td>
                  </Table.Tr>
                ))}
            </Table.Tbody>
          </Table>
        </Stack>
      )}
    </Drawer>
  );
}
