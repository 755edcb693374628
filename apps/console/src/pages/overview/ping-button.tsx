import { Button, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { runPing } from '../../api/overview.ts';
import { PageLink } from '../../parts/page-link.tsx';
import { randomName } from '../../state/random-name.ts';

/** Runs `test.ping` on all minions: it changes nothing there. */
export function PingButton() {
  const queries = useQueryClient();
  // The same for each try until one is answered.
  const [intent, setIntent] = useState(randomName);
  const ping = useMutation({
    mutationFn: () => runPing(intent),
    onSuccess: async () => {
      setIntent(randomName());
      await queries.invalidateQueries({ queryKey: ['jobs', { fun: 'test.ping' }] });
    },
  });
  return (
    <>
      <Button
        size="compact-sm"
        variant="default"
        loading={ping.isPending}
        onClick={() => ping.mutate()}
      >
        Run it on all minions
      </Button>
      {ping.data !== undefined && (
        <PageLink path={`/jobs/${ping.data.jid}`}>see who answers</PageLink>
      )}
      {ping.error !== null && (
        <Text size="sm" role="alert">
          {ping.error.message}
        </Text>
      )}
    </>
  );
}
