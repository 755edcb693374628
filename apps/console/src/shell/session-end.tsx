import { Alert, Button, Group, Modal } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { isLoggedOut } from '../api/ask.ts';
import { logInsQuery, meQuery } from '../api/session.ts';
import { useNow } from '../parts/now.ts';
import { LogInForm } from './log-in.tsx';

/** The end of a log-in is announced this long before, ms. */
const SOON_MS = 300_000;

/** Asks for the password again shortly before the log-in ends, and after. The page stays. */
export function SessionEnd() {
  const queries = useQueryClient();
  const me = useQuery(meQuery);
  const logIns = useQuery(logInsQuery);
  const [isOpen, dialog] = useDisclosure();
  const nowMs = useNow();
  const leftMs = me.data === undefined ? Infinity : Date.parse(me.data.expires) - nowMs;
  const isOver = isLoggedOut(me.error) || leftMs <= 0;
  if (!isOver && leftMs > SOON_MS) return null;
  const again = async (): Promise<void> => {
    dialog.close();
    const { principal } = await queries.fetchQuery({ ...meQuery, staleTime: 0 });
    // What the user before saw is not for another one.
    if (me.data !== undefined && me.data.principal !== principal) window.location.reload();
    else await queries.invalidateQueries();
  };
  return (
    <Alert color="orange" role="status" mb="sm" p="xs">
      <Group justify="space-between">
        {isOver ? 'Your log-in has ended.' : 'Your log-in ends soon.'}
        <Button size="compact-sm" onClick={dialog.open}>
          Log in again
        </Button>
      </Group>
      <Modal opened={isOpen} onClose={dialog.close} title="Log in again">
        <LogInForm
          logIns={logIns.data}
          user={me.data?.principal ?? ''}
          onLoggedIn={() => void again()}
        />
      </Modal>
    </Alert>
  );
}
