import { isMap, listOf, mapOf, SaltFloat, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import type { MasterRequests } from '../clients/master-requests.ts';
import type { Session, Sessions } from './sessions.ts';

/** A log-in that a worker took. */
export interface LoggedIn {
  readonly session: Session;
  /** The id of the session, which its peer keeps. */
  readonly id: string;
  /** The token as the worker made it. */
  readonly made: SaltMap;
}

/** Makes a token, and a session that stands for it. */
export async function newSession(
  { requests, sessions }: { readonly requests: MasterRequests; readonly sessions: Sessions },
  credentials: SaltMap,
  peer: string,
): Promise<LoggedIn | undefined> {
  const load = new Map(credentials).set('cmd', 'mk_token');
  const made = await requests.ask(load, { asker: `log-in ${peer}`, peer });
  const session = sessionOf(made);
  if (session === undefined || !isMap(made)) return undefined;
  return { session, made, id: await sessions.open(session) };
}

/** Ends a session, and revokes its token. */
export async function endSession(
  { requests, sessions }: { readonly requests: MasterRequests; readonly sessions: Sessions },
  { id, token }: { readonly id: string | undefined; readonly token: string },
  peer: string,
): Promise<void> {
  if (id !== undefined) await sessions.close(id);
  const load = mapOf({ cmd: 'brine_query', query: 'del_token', token, args: mapOf({ token }) });
  await requests.ask(load, { asker: `log-out ${peer}`, peer });
}

/** What the master keeps of a token. */
export interface TokenRecord {
  /** Unix seconds. */
  readonly start: number;
  readonly expire: number;
  readonly user: string;
  readonly eauth: string;
  readonly groups: readonly string[];
}

/** The record of a token; undefined for one that is not valid. @throws NetapiError 503 */
export async function tokenRecord(
  requests: MasterRequests,
  token: string,
  peer: string,
): Promise<TokenRecord | undefined> {
  const by = { asker: `token ${peer}`, peer };
  const record = await requests.ask(mapOf({ cmd: 'get_token', token }), by);
  if (!isMap(record)) return undefined;
  const session = sessionOf(new Map(record).set('token', token));
  if (session === undefined || session.expire * 1_000 <= Date.now()) return undefined;
  return { ...session, groups: groupsIn(record) };
}

/** The groups that a log-in found. */
export function groupsIn(record: SaltMap): readonly string[] {
  return (listOf(record, 'groups') ?? []).filter((one) => typeof one === 'string');
}

/** The session of a token that was made; undefined if the log-in was refused. */
export function sessionOf(made: SaltValue): Session | undefined {
  if (!isMap(made)) return undefined;
  const [token, user, eauth] = [textOf(made, 'token'), textOf(made, 'name'), textOf(made, 'eauth')];
  const [start, expire] = [secondsIn(made, 'start'), secondsIn(made, 'expire')];
  if (token === undefined || user === undefined || eauth === undefined) return undefined;
  return start === undefined || expire === undefined
    ? undefined
    : { token, user, eauth, start, expire };
}

function secondsIn(map: SaltMap, name: string): number | undefined {
  const value = map.get(name);
  if (value instanceof SaltFloat) return value.value;
  return typeof value === 'number' ? value : undefined;
}
