import type { Me, SessionShown } from '@brine/api';
import { queryOptions } from '@tanstack/react-query';
import { ask } from './ask.ts';

/** What one may log in with, and the session if there is one. */
export interface LogIns {
  /** Of `external_auth`, with a name and a password. */
  readonly modules: readonly string[];
  /** The name of the provider that a browser logs in at. */
  readonly elsewhere?: string;
  readonly session?: SessionShown;
}

/** What a person logs in with. */
export type LogIn =
  | { readonly username: string; readonly password: string; readonly eauth: string }
  | { readonly code: string };

export const logInsQuery = queryOptions({
  queryKey: ['log-ins'],
  queryFn: ({ signal }) => ask<LogIns>('/log-ins', { signal }),
});

/** Who is logged in, and what it may do. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => ask<Me>('/me', { signal }),
  staleTime: 30_000,
});

/** @throws ApiError with the code `log-in-refused` */
export function logIn(given: LogIn): Promise<SessionShown> {
  return ask('/session', { body: given });
}

/** Ends the session everywhere. */
export function logOut(): Promise<void> {
  return ask('/session', { method: 'DELETE' });
}
