import { Alert, Button } from '@mantine/core';
import type { ErrorComponentProps } from '@tanstack/react-router';

/** For a fault of a page: the frame stays. */
export function Trouble({ error, reset }: ErrorComponentProps) {
  return (
    <Alert color="red" title="This page failed" role="alert">
      <p>{error instanceof Error ? error.message : String(error)}</p>
      <Button size="compact-sm" variant="default" onClick={reset}>
        Try again
      </Button>
    </Alert>
  );
}
