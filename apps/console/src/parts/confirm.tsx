import { Alert, Button, Group, Modal, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { isLost } from '../api/ask.ts';
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
  readonly act: () => Promise<{ readonly comment: string }>;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Asks before something is changed. It is there for one intent: a second one is another dialog. */
export function Confirm(props: ConfirmProps) {
  const { title, children, label, isDangerous = false, act, onDone, onClose } = props;
  const done = useMutation({
    mutationFn: act,
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
            {isLost(done.error) && '. It may have been done: see, before you do it again.'}
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
