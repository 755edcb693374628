import type { ApiAnswer, ApiConnection } from './api-connection.ts';
import type { ApiCredentials } from './choose-api.ts';
import type { StoredSession } from './session-file.ts';

/** A login module may ask a directory of the company, ms. */
const LOG_IN_MS = 60_000;

/** The cookies by which the API names a session: with and without TLS. */
const COOKIE = /^(?:__Host-)?session_id=([0-9a-f]+)(?:;|$)/;

/**
 * Logs in, and returns the session. The connection then uses it.
 * @throws ApiRefusedError ApiUnreachableError
 */
export async function logIn(
  api: ApiConnection,
  { username, password, eauth }: ApiCredentials,
): Promise<Omit<StoredSession, 'ca'>> {
  const body = { username, password, eauth };
  const answer = await api.ask({ method: 'POST', path: '/session', body, timeoutMs: LOG_IN_MS });
  const token = tokenIn(answer);
  const { principal, expires } = (answer.json ?? {}) as Readonly<Record<string, unknown>>;
  if (token === undefined || typeof principal !== 'string' || typeof expires !== 'string') {
    throw new Error(`${api.url} gave no session: is this the address of a Brine master?`);
  }
  api.useToken(token);
  return { token, user: principal, eauth, expires };
}

function tokenIn({ headers }: ApiAnswer): string | undefined {
  for (const cookie of headers['set-cookie'] ?? []) {
    const token = COOKIE.exec(cookie)?.[1];
    if (token !== undefined) return token;
  }
  return undefined;
}

/** Ends the session of the connection, and revokes its token. @throws as {@link logIn} */
export async function logOut(api: ApiConnection): Promise<void> {
  await api.ask({ method: 'DELETE', path: '/session', timeoutMs: LOG_IN_MS });
}
