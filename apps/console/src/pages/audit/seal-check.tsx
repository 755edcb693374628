import { Button, Group, Modal, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { checkSeals, sealCheckQuery } from '../../api/audit.ts';
import { meQuery } from '../../api/session.ts';
import { GivenLines } from '../../parts/given.tsx';
import { LevelSign } from '../../parts/level-sign.tsx';
import { randomName } from '../../state/random-name.ts';
import { mayBegin } from '../../state/rights.ts';
import { sealsOf } from './seals.ts';

interface SealCheckProps {
  /** The check that was begun last. */
  readonly jid: string | undefined;
  readonly onBegun: (jid: string) => void;
}

/** Checks the seals of all acts: rows that were changed, taken out or moved are named. */
export function SealCheck({ jid, onBegun }: SealCheckProps) {
  const me = useQuery(meQuery);
  const check = useQuery(sealCheckQuery(jid));
  const [isOpen, setOpen] = useState(false);
  const begin = useMutation({
    mutationFn: checkSeals,
    onSuccess: (begun) => onBegun(begun.jid),
    onError: ({ message }) => notifications.show({ color: 'red', message }),
  });
  const { data, error } = check;
  const seals = data?.state === 'ended' ? sealsOf(data) : undefined;
  const isRunning = begin.isPending || (jid !== undefined && seals === undefined && error === null);
  return (
    <Group gap="xs" role="status">
      {seals !== undefined && (
        <Button size="compact-sm" variant="subtle" onClick={() => setOpen(true)}>
          <LevelSign
            level={seals.isIntact ? 'ok' : 'bad'}
            word={seals.isIntact ? 'the chain is intact' : 'the chain is broken'}
          />
        </Button>
      )}
      {error !== null && <Text size="sm">{error.message}</Text>}
      {me.data !== undefined && mayBegin(me.data, 'runner', 'audit.verify') && (
        <Button
          size="compact-sm"
          variant="default"
          loading={isRunning}
          onClick={() => begin.mutate(randomName())}
        >
          Check the chain
        </Button>
      )}
      <Modal opened={isOpen} onClose={() => setOpen(false)} title="Seals of the record" size="lg">
        <GivenLines text={seals?.text ?? ''} />
      </Modal>
    </Group>
  );
}
