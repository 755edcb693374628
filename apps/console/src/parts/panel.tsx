import { Alert, Button, Group, Paper, Skeleton, Text, Title } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useId } from 'react';
import { ApiError } from '../api/ask.ts';
import { When } from './when.tsx';

/** What a panel needs to know of where its rows come from. */
export type Source = Pick<UseQueryResult, 'isPending' | 'error' | 'data' | 'dataUpdatedAt'> & {
  readonly refetch: () => Promise<unknown>;
};

interface PanelProps {
  readonly title: ReactNode;
  /** Beside the title. */
  readonly actions?: ReactNode;
  readonly source?: Source;
  readonly children: ReactNode;
}

/** A part of a page with one source. Where that can not be asked, it shows since when; the
 * others continue. */
export function Panel({ title, actions, source, children }: PanelProps) {
  const id = useId();
  return (
    <Paper component="section" aria-labelledby={id} withBorder p="sm">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h5" id={id}>
          {title}
        </Title>
        {actions}
      </Group>
      {source === undefined ? children : <Sourced source={source}>{children}</Sourced>}
    </Paper>
  );
}

/** Its children, once there is something to show. */
export function Sourced({
  source,
  children,
}: {
  readonly source: Source;
  readonly children: ReactNode;
}) {
  if (source.isPending) return <Skeleton h={80} aria-label="Loading" role="status" />;
  return (
    <>
      {source.error !== null && <Stale source={source} error={source.error} />}
      {source.data !== undefined && children}
    </>
  );
}

/** Why its source can not be asked, and since when what is shown is known. */
export function Stale({ source, error }: { readonly source: Source; readonly error: Error }) {
  const isRefused = error instanceof ApiError && !error.retryable;
  return (
    <Alert color={isRefused ? 'gray' : 'orange'} mb="xs" role="status" p="xs">
      <Group justify="space-between">
        <Text size="sm">
          {error.message}
          {source.data !== undefined && (
            <>
              {'. This is what was known '}
              <When time={new Date(source.dataUpdatedAt).toISOString()} />
            </>
          )}
        </Text>
        {!isRefused && (
          <Button size="compact-sm" variant="default" onClick={() => void source.refetch()}>
            Ask again
          </Button>
        )}
      </Group>
    </Alert>
  );
}

/** What will be here, and the command that makes it. */
export function Empty({
  children,
  command,
}: {
  readonly children: ReactNode;
  readonly command?: string;
}) {
  return (
    <Text c="dimmed" py="lg" ta="center">
      {children}
      {command !== undefined && (
        <>
          {' '}
          <code>{command}</code>
        </>
      )}
    </Text>
  );
}
