import { Alert, Button, Center, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { logInsQuery } from '../api/session.ts';
import { Given } from '../parts/given.tsx';
import { Sourced } from '../parts/panel.tsx';
import { Inside } from './leave.tsx';
import { LogInForm } from './log-in.tsx';
import { logInByCode, takeBrought } from './log-in-code.ts';

/** Its children for a user who is logged in; before that, what one logs in with. */
export function Welcome({ children }: { readonly children: ReactNode }) {
  const queries = useQueryClient();
  const logIns = useQuery(logInsQuery);
  const [first] = useState(takeBrought);
  const [code, setCode] = useState(first.code);
  const [trouble, setTrouble] = useState(first.trouble);
  // An address with a code that is opened in this very tab loads nothing.
  useEffect(() => {
    const take = (): void => {
      const brought = takeBrought();
      setCode(brought.code);
      setTrouble(brought.trouble);
    };
    window.addEventListener('hashchange', take);
    return () => window.removeEventListener('hashchange', take);
  }, []);
  const refetch = logIns.refetch;
  const session = logIns.data?.session;
  const isFirst = logIns.isSuccess && session === undefined;
  useEffect(() => {
    if (code === undefined || !isFirst) return;
    void logInByCode(code).then(async (wrong) => {
      setCode(undefined);
      setTrouble(wrong);
      await refetch();
    });
  }, [code, isFirst, refetch]);

  if (session !== undefined && code !== undefined) {
    const use = async (): Promise<void> => {
      setTrouble(await logInByCode(code));
      // What the user before saw is not for this one.
      queries.removeQueries({ predicate: ({ queryKey: [name] }) => name !== 'log-ins' });
      await refetch();
      setCode(undefined);
    };
    return (
      <OtherUser
        user={session.principal}
        onUse={() => void use()}
        onKeep={() => setCode(undefined)}
      />
    );
  }
  if (session !== undefined) return <Inside>{children}</Inside>;
  return (
    <Center component="main" p="md">
      <Paper withBorder p="lg" w={380} maw="100%">
        <Stack>
          <Title order={1}>Brine</Title>
          {trouble !== undefined && (
            <Alert color="red" role="alert">
              {trouble}
            </Alert>
          )}
          <Sourced source={logIns}>
            <LogInForm logIns={logIns.data} onLoggedIn={() => void refetch()} />
          </Sourced>
        </Stack>
      </Paper>
    </Center>
  );
}

interface OtherUserProps {
  readonly user: string;
  readonly onUse: () => void;
  readonly onKeep: () => void;
}

/** A link alone makes no user another one. */
function OtherUser({ user, onUse, onKeep }: OtherUserProps) {
  return (
    <Center component="main" p="md">
      <Paper withBorder p="lg" w={480} maw="100%">
        <Stack>
          <Title order={1}>Log in with the code?</Title>
          <Text>
            You are logged in as <Given text={user} />. The code ends this session.
          </Text>
          <Group>
            <Button onClick={onUse}>Use the code</Button>
            <Button variant="default" onClick={onKeep}>
              Stay logged in
            </Button>
          </Group>
        </Stack>
      </Paper>
    </Center>
  );
}
