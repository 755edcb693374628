import type { Job } from '@brine/api/jobs';
import { Alert, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError } from '../../api/ask.ts';
import { countAgain, type Expected, jobKey, rerun, signal } from '../../api/job.ts';
import { Given } from '../../parts/given.tsx';
import { Sourced } from '../../parts/panel.tsx';
import type { LedgerState } from '../../state/ledger.ts';
import { randomName } from '../../state/random-name.ts';

const NUMBER = new Intl.NumberFormat('en');

/** What is about to be done with minions of a job in some states. */
export interface JobAct {
  readonly is: 'rerun' | 'term' | 'kill';
  readonly states: readonly LedgerState[];
  readonly name: string;
}

interface ActDialogProps {
  readonly job: Job;
  readonly act: JobAct;
  readonly onClose: () => void;
}

/** Counts the minions of an act, and sends it for exactly these. */
function useAct({ job, act, onClose }: ActDialogProps) {
  const { jid } = job;
  const navigate = useNavigate();
  const queries = useQueryClient();
  // The same key for each try of one intent; another count is another intent.
  const [intent, setIntent] = useState(randomName);
  const [changed, setChanged] = useState<Expected>();
  const counted = useQuery({
    queryKey: [...jobKey(jid), 'again', act.states],
    queryFn: () => countAgain(jid, act.states, job),
    gcTime: 0,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  });
  const send = useMutation({
    mutationFn: (given: Expected) =>
      act.is === 'rerun'
        ? rerun(jid, act.states, given, intent)
        : signal(jid, act.is, given, intent),
    onSuccess: async (begun) => {
      notifications.show({ message: `Job ${begun.jid} has begun.` });
      onClose();
      await queries.invalidateQueries({ queryKey: jobKey(jid) });
      if (act.is === 'rerun') await navigate({ to: '/jobs/$jid', params: { jid: begun.jid } });
    },
    onError: (error) => {
      if (!(error instanceof ApiError) || error.changed === undefined) return;
      setChanged(error.changed);
      setIntent(randomName());
    },
  });
  return { counted, changed, expected: changed ?? counted.data, send };
}

/** Shows how many minions an act is for, and acts on exactly these once one agrees. */
export function ActDialog(props: ActDialogProps) {
  const { job, act, onClose } = props;
  const { counted, changed, expected, send } = useAct(props);
  const ledgerCount = act.states.reduce((sum, state) => sum + job.counts[state], 0);
  return (
    <Modal
      opened
      onClose={onClose}
      title={act.is === 'rerun' ? 'Run again' : 'End the job'}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack gap="sm">
        <Text size="sm">
          <Given text={job.fun.join(', ')} />, {act.name.toLowerCase()}
        </Text>
        <Sourced source={counted}>
          {expected !== undefined && (
            <Text role="status">
              <strong>{NUMBER.format(expected.count)}</strong>{' '}
              {expected.count === 1 ? 'minion' : 'minions'}
              {expected.count < ledgerCount &&
                `, of ${NUMBER.format(ledgerCount)}: the others can not be reached by a job now`}
            </Text>
          )}
        </Sourced>
        {act.is === 'rerun' && act.states.includes('never') && (
          <Text size="sm">
            A minion whose return was lost runs it twice. The tab Why has the causes.
          </Text>
        )}
        {send.error !== null && (
          <Alert color="orange" p="xs" role="alert">
            {changed === undefined ? (
              send.error.message
            ) : (
              <>
                The minions have changed meanwhile: they are {NUMBER.format(changed.count)} now.
                Nothing was sent.
              </>
            )}
          </Alert>
        )}
        <Group justify="end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            {...(act.is === 'rerun' ? {} : { color: 'red' })}
            disabled={expected === undefined || expected.count === 0}
            loading={send.isPending}
            onClick={() => expected !== undefined && send.mutate(expected)}
          >
            {act.is === 'rerun' ? 'Run again' : act.name} on {NUMBER.format(expected?.count ?? 0)}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
