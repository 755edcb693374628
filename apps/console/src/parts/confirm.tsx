import { Alert, Button, Group, Modal, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { randomName } from '../state/random-name.ts';
import { shown } from './given.tsx';

/** Longer answers are cut. */
const COMMENT_MAX = 500;

interface ConfirmProps {
  readonly title: string;
  /** What happens, and to what. */
  readonly children: ReactNode;
  /** Of the button that does it. */
  readonly label: string;
  readonly isDangerous?: boolean;
  /** @param idempotencyKey the same for each try of this intent */
  readonly act: (idempotencyKey: string) => Promise<{ readonly comment: string }>;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Asks before something is changed. It is there for one intent: a second one is another dialog. */
export function Confirm(props: ConfirmProps) {
  const { title, children, label, isDangerous = false, act, onDone, onClose } = props;
  const [key] = useState(randomName);
  const done = useMutation({
    mutationFn: () => act(key),
    onSuccess: ({ comment }) => {
      notifications.show({ message: comment === '' ? 'Done.' : shown(comment, COMMENT_MAX) });
      onDone();
      onClose();
    },
  });
  return (
    <Modal opened onClose={onClose} title={title}>
      <Stack>
        <div>{children}</div>
        {done.error !== null && (
          <Alert color="red" role="alert">
            {shown(done.error.message, COMMENT_MAX)}
          </Alert>
        )}
        <Group>
          <Button
            {...(isDangerous ? { color: 'red' } : {})}
            loading={done.isPending}
            onClick={() => done.mutate()}
          >
            {label}
          </Button>
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
