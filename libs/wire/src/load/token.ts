import { checkNames } from '../names.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { mapOf, SaltFloat } from '../value.ts';
import { fieldError, isTexts, maybe, needText, optionalText } from './fields.ts';

/*
 * mk_token (clear)  => cmd, eauth text, credentials (username, password, …), [token_expire]
 *   reply: token map, or "" when refused
 * get_token (clear) => cmd, token text
 *   reply: token map, or {}
 * token map         => token text (hex), start float, expire float, name text, eauth text,
 *                      [groups list], [auth_list list]
 */

/** A request for a token; `credentials` is the whole load without `cmd`. */
export interface MakeTokenRequest {
  readonly eauth: string;
  readonly username?: string;
  readonly password?: string;
  /** Seconds. */
  readonly tokenExpire?: number;
  readonly credentials: SaltMap;
}

/** Reads a `mk_token` load; throws WireError SALT_WIRE_FIELD (Salt answers ""). */
export function parseMakeToken(load: SaltMap): MakeTokenRequest {
  checkNames(load, 'mk_token');
  const credentials: SaltMap = new Map(load);
  credentials.delete('cmd');
  return {
    eauth: needText(load, 'eauth', 'mk_token'),
    credentials,
    ...maybe('username', optionalText(load, 'username', 'mk_token')),
    ...maybe('password', optionalText(load, 'password', 'mk_token')),
    ...maybe('tokenExpire', seconds(load.get('token_expire'))),
  };
}

/** The token text of a `get_token` load: hex digits only. Throws WireError SALT_WIRE_FIELD. */
export function parseGetToken(load: SaltMap): string {
  checkNames(load, 'get_token');
  const token = needText(load, 'token', 'get_token');
  if (!/^[0-9a-f]{32,128}$/.test(token)) throw fieldError('get_token', 'token', 'a token');
  return token;
}

/** A token as Salt stores it and returns it. Times are seconds since 1970. */
export interface Token {
  readonly token: string;
  readonly start: number;
  readonly expire: number;
  readonly name: string;
  readonly eauth: string;
  readonly groups?: string[];
  readonly authList?: SaltValue[];
}

/** A token as it goes over the wire and into its file. */
export function buildToken(token: Token): SaltMap {
  return mapOf({
    start: new SaltFloat(token.start),
    expire: new SaltFloat(token.expire),
    name: token.name,
    eauth: token.eauth,
    groups: token.groups,
    auth_list: token.authList,
    token: token.token,
  });
}

/** Reads a token map; throws WireError SALT_WIRE_FIELD. */
export function parseToken(map: SaltMap): Token {
  const start = seconds(map.get('start'));
  const expire = seconds(map.get('expire'));
  if (start === undefined || expire === undefined) {
    throw fieldError('token', 'start or expire', 'a number');
  }
  const groups = map.get('groups');
  const authList = map.get('auth_list');
  return {
    token: needText(map, 'token', 'token'),
    start,
    expire,
    name: needText(map, 'name', 'token'),
    eauth: needText(map, 'eauth', 'token'),
    ...maybe('groups', isTexts(groups) ? groups : undefined),
    ...maybe('authList', Array.isArray(authList) ? authList : undefined),
  };
}

function seconds(value: SaltValue | undefined): number | undefined {
  const number = value instanceof SaltFloat ? value.value : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}
