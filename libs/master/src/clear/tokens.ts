import { createHash, randomBytes } from 'node:crypto';
import { grantedEntries } from '@brine/acl';
import { intOf, mapOf, SaltFloat, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { buildErrorReply } from '@brine/wire/load';
import { fromJson } from '@brine/wire/text';
import type { AccessRules, KeptKey, TokenRecord, Vouched } from '../ports/login-ports.ts';
import type { MasterPorts } from '../ports/ports.ts';
import {
  authenticateByKey,
  callerOfKept,
  type ClearRequest,
  findToken,
  isEnabled,
  isStranger,
  keptKeyOf,
  logIn,
  refusalOf,
} from './caller.ts';

/** Number of random bytes that a token is the digest of (salt/auth/__init__.py `mk_token`). */
const TOKEN_ENTROPY_BYTES = 512;

/** Longest life of a token, in seconds: 365 days. */
const TOKEN_LIFE_MAX_S = 365 * 86_400;

/** Stands for the module in tokens of local keys. No option of `external_auth` gives it rights. */
const LOCAL_KEY = 'local key';

/** The login module of a provider elsewhere. Its users log in by a browser alone. */
const ELSEWHERE = 'oidc';

const PROVIDER_AWAY = 'The provider of the log-in does not answer. Other log-ins work.';
const BROWSER_ALONE =
  'The login module oidc takes no name and password. Open /login/oidc of the HTTP API in a ' +
  'browser.';

/**
 * `mk_token`: a token for a name and a password; an empty text if they are refused
 * (salt/auth/__init__.py LoadAuth.mk_token). Brine's own: for a one-time code, and for a log-in
 * that a browser comes back with.
 */
export async function makeToken(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<SaltValue> {
  if (load.has('code')) return tokenOfCode(ports, request, load);
  const isElsewhere = textOf(load, 'eauth') === ELSEWHERE;
  if (isElsewhere && !load.has('flow')) {
    return buildErrorReply('EauthAuthenticationError', BROWSER_ALONE);
  }
  const known = await (isElsewhere ? finishElsewhere : logIn)(ports, request, load);
  if (known === 'away') return buildErrorReply('SaltReqTimeoutError', PROVIDER_AWAY);
  const access = ports.rules.access;
  if (known === undefined || access === undefined) {
    ports.count('refused_eauth');
    return '';
  }
  request.onProven?.({ kind: 'eauth', principal: known.name });
  const eauth = textOf(load, 'eauth') ?? '';
  const life = Math.min(lifeOf(access, load, eauth), TOKEN_LIFE_MAX_S);
  const start = ports.now() / 1000;
  const record: TokenRecord = {
    start,
    expire: start + life,
    name: known.name,
    eauth,
    ...(known.groups.length === 0 ? {} : { groups: known.groups }),
    ...(access.keepAclInToken ? { authList: aclToKeep(access, eauth, known) } : {}),
  };
  return keepToken(ports, access, record);
}

/**
 * Brine's own clear command `brine_oidc`: begins a log-in at the provider. Open to all: the browser
 * keeps what the master would have to.
 */
export async function beginElsewhere(ports: MasterPorts, request: ClearRequest): Promise<SaltMap> {
  const { elsewhere } = ports.logins;
  if (elsewhere === undefined || !isEnabled(ports, ELSEWHERE)) {
    return buildErrorReply('SaltInvocationError', 'external_auth has no oidc');
  }
  request.stepAside?.();
  const begun = await elsewhere.begin();
  if (begun === undefined) return buildErrorReply('SaltReqTimeoutError', PROVIDER_AWAY);
  return mapOf({ ...begun });
}

async function finishElsewhere(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<Vouched | 'away' | undefined> {
  const [flow, callback] = [textOf(load, 'flow'), textOf(load, 'callback')];
  const { elsewhere } = ports.logins;
  if (elsewhere === undefined || !isEnabled(ports, ELSEWHERE)) return undefined;
  if (flow === undefined || callback === undefined) return undefined;
  request.stepAside?.();
  return elsewhere.finish(flow, callback, request.peer ?? request.gatewayHost);
}

/**
 * A token for a one-time code, with the rights of the local key that the code was made with. It is
 * good for `token_expire`, and no longer than the key.
 */
async function tokenOfCode(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<SaltValue> {
  const code = textOf(load, 'code') ?? '';
  const access = ports.rules.access;
  request.stepAside?.();
  const from = request.peer ?? request.gatewayHost;
  const key = await ports.logins.prove('code', from, () => keyOfCode(ports, code));
  const caller = key && (await callerOfKept(ports, key));
  if (key === undefined || caller === undefined || access === undefined) {
    ports.count('refused_code');
    return '';
  }
  const { principal: name } = caller;
  request.onProven?.({ kind: 'code', principal: name });
  const start = ports.now() / 1000;
  const expire = start + Math.min(access.tokenExpire, TOKEN_LIFE_MAX_S);
  return keepToken(ports, access, { start, expire, name, eauth: LOCAL_KEY, key });
}

/** No other text is looked up. */
const CODE = /^[A-Za-z0-9_-]{43}$/;

async function keyOfCode(ports: MasterPorts, code: string): Promise<KeptKey | undefined> {
  const record = CODE.test(code) ? await ports.codes.take(code) : undefined;
  return record !== undefined && record.expire * 1000 > ports.now() ? record.key : undefined;
}

async function keepToken(
  ports: MasterPorts,
  { hashType }: AccessRules,
  record: TokenRecord,
): Promise<SaltValue> {
  const token = createHash(hashType).update(randomBytes(TOKEN_ENTROPY_BYTES)).digest('hex');
  await ports.tokens.keep(token, record);
  ports.count('token_made');
  return shown(token, record);
}

/** `get_token`: the record of a token; an empty map for an unknown or expired one. */
export async function getToken(
  ports: MasterPorts,
  _request: ClearRequest,
  load: SaltMap,
): Promise<SaltValue> {
  if (!load.has('token')) return false;
  const token = load.get('token');
  const record = await findToken(ports, token);
  return record === undefined || typeof token !== 'string' ? mapOf({}) : shown(token, record);
}

/** Seconds in which a code must be used. */
const CODE_LIFE_S = 600;

/** SHA-256 in hexadecimal digits. */
const HASH = /^[0-9a-f]{64}$/;

/**
 * Brine's own clear command `brine_code`: keeps the hash of a one-time code, for `brine console`.
 * The code itself stays with the caller until a browser sends it. Only a local key counts: a
 * session must not make the next one, or it would never end.
 */
export async function keepCode(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<SaltMap> {
  const caller = await authenticateByKey(ports, request, load);
  if (isStranger(caller)) return refusalOf(caller);
  const hash = textOf(load, 'code_hash') ?? '';
  const expire = Math.floor(ports.now() / 1000) + CODE_LIFE_S;
  const isKept =
    HASH.test(hash) && (await ports.codes.keep(hash, { key: keptKeyOf(load), expire }));
  if (!isKept) {
    return buildErrorReply('SaltInvocationError', 'code_hash is none of a new code');
  }
  ports.count('code_made');
  return mapOf({ principal: caller.principal, expire });
}

/** Revokes a token (salt/runners/auth.py del_token); resolves with false if it did not exist. */
export async function deleteToken(ports: MasterPorts, args: SaltMap): Promise<SaltValue> {
  const token = args.get('token');
  if ((await findToken(ports, token)) === undefined || typeof token !== 'string') return false;
  await ports.tokens.forget(token);
  ports.count('token_revoked');
  return true;
}

/** Seconds. Only a user in `token_expire_user_override` may choose. */
function lifeOf(access: AccessRules, load: SaltMap, eauth: string): number {
  const wanted = intOf(load, 'token_expire');
  if (wanted === undefined || wanted < 0) return access.tokenExpire;
  return mayChooseLife(access.tokenExpireUserOverride, eauth, textOf(load, 'username'))
    ? wanted
    : access.tokenExpire;
}

function mayChooseLife(override: unknown, eauth: string, username: string | undefined): boolean {
  if (override === true) return true;
  if (typeof override !== 'object' || override === null || !Object.hasOwn(override, eauth)) {
    return false;
  }
  const users = (override as Readonly<Record<string, unknown>>)[eauth];
  return Array.isArray(users) && users.includes(username);
}

function aclToKeep(access: AccessRules, eauth: string, known: Vouched): SaltValue {
  if (known.acl !== undefined) return known.acl;
  const { externalAuth, permissiveAcl } = access;
  const entries = grantedEntries(externalAuth[eauth], known.name, known.groups, permissiveAcl);
  return fromJson(entries);
}

function shown(token: string, record: TokenRecord): SaltMap {
  return mapOf({
    start: float(record.start),
    expire: float(record.expire),
    name: record.name,
    eauth: record.eauth,
    auth_list: record.authList,
    groups: record.groups && [...record.groups],
    token,
  });
}

/** Python sends both as floats, whole or not. */
function float(seconds: number): SaltValue {
  return Number.isInteger(seconds) ? new SaltFloat(seconds) : seconds;
}
