import { Code, Text } from '@mantine/core';

/** The place in the documentation that helps. */
export function Runbook({ place }: { readonly place: string }) {
  return (
    <Text span size="sm">
      runbook <Code>{place}</Code>
    </Text>
  );
}
