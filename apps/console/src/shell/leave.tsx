import { Alert } from '@mantine/core';
import { createContext, type ReactNode, use, useCallback, useEffect, useState } from 'react';
import { isLoggedOut } from '../api/ask.ts';
import { logOut } from '../api/session.ts';

const LeaveContext = createContext<() => void>(() => undefined);

/** Ends the session, and shows what one logs in with. */
export function useLeave(): () => void {
  return use(LeaveContext);
}

/** Its children until one leaves. They end first: what they still asked for would be refused. */
export function Inside({ children }: { readonly children: ReactNode }) {
  const [isLeaving, setLeaving] = useState(false);
  const [trouble, setTrouble] = useState<string>();
  useEffect(() => {
    if (!isLeaving) return;
    logOut()
      .catch((error: unknown) => {
        if (!isLoggedOut(error)) throw error;
      })
      .then(
        () => window.location.reload(),
        (error: unknown) => {
          setTrouble(String(error));
          setLeaving(false);
        },
      );
  }, [isLeaving]);
  const leave = useCallback(() => setLeaving(true), []);
  if (isLeaving) return null;
  return (
    <LeaveContext value={leave}>
      {trouble !== undefined && (
        <Alert color="red" role="alert">
          {trouble}
        </Alert>
      )}
      {children}
    </LeaveContext>
  );
}
