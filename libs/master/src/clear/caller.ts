import { createHash } from 'node:crypto';
import { type Acl, grantedTo, publisherAcl, readAcl } from '@brine/acl';
import { constantTimeEqual } from '@brine/crypt';
import { type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { buildErrorReply } from '@brine/wire/load';
import type { KeptKey, TokenRecord, Vouched } from '../ports/login-ports.ts';
import type { MasterPorts, Request } from '../ports/ports.ts';

/**
 * The proof of a caller's name: a token, a login module, or a local key; `minion`: its sealed
 * request.
 */
export type CallerKind = 'token' | 'eauth' | 'user' | 'minion';

/** A proven name and its proof; `code`: a one-time code, which makes a token and does no more. */
export interface Proven {
  readonly kind: CallerKind | 'code';
  /** Owner of the local key, the token or the login, whatever user the load names. */
  readonly principal: string;
  /** The call that makes this request for its caller; absent for the caller's own request. */
  readonly via?: string;
}

/** An unsealed request. */
export interface ClearRequest extends Request {
  /** The caller, if this process makes the request for work that the caller began. */
  readonly caller?: Caller;
  /** Called as soon as a name is proven, whatever the outcome of the request. */
  readonly onProven?: (proven: Proven) => void;
}

/** An admitted caller, and its rights. */
export interface Caller extends Proven {
  readonly kind: CallerKind;
  /** The user whose rights apply. */
  readonly user: string;
  /** Undefined: everything is allowed, for a key of root or of the master's user. */
  readonly acl: Acl | undefined;
  /** The source of rights in `external_auth`; absent if they came with the login. */
  readonly granted?: { readonly module: string; readonly groups: readonly string[] };
  /** Of a token that stands for a local key: the user that was named with the key. */
  readonly localUser?: string;
}

/** A refused caller, with the texts of Salt's error map. */
export interface Stranger {
  readonly kind: CallerKind;
  readonly name: string;
  readonly message: string;
}

const ERROR_NAMES = {
  token: 'TokenAuthenticationError',
  eauth: 'EauthAuthenticationError',
  user: 'UserAuthenticationError',
  minion: 'AuthorizationError',
} as const;

/**
 * Finds the caller (salt/auth/__init__.py `check_authentication`). `credentials` has the token, or
 * the name and password: the load itself for runners and wheels, its `kwargs` for a publish.
 * Without either, the load's local key counts. Texts and their odd full stops are Salt's.
 */
export async function authenticate(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
  credentials: SaltMap = load,
): Promise<Caller | Stranger> {
  const caller = request.caller ?? (await provenCaller(ports, request, load, credentials));
  if (!isStranger(caller)) request.onProven?.(caller);
  return caller;
}

async function provenCaller(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
  credentials: SaltMap,
): Promise<Caller | Stranger> {
  if (credentials.has('token')) return byToken(ports, credentials);
  if (credentials.has('eauth')) return byPassword(ports, request, credentials);
  return byKey(ports, request, load);
}

/** True if the caller was refused. */
export function isStranger(asked: Caller | Stranger): asked is Stranger {
  return 'message' in asked;
}

/** The refusal of a runner or wheel. */
export function refusalOf({ name, message }: Stranger): SaltMap {
  return buildErrorReply(name, message);
}

/** The refusal of a known caller without the right (salt/master.py ClearFuncs.runner). */
export function notAllowed({ kind, user }: Caller): Stranger {
  const message = `Authentication failure of type "${kind}" occurred for user ${user}.`;
  return { kind, name: ERROR_NAMES[kind], message };
}

/** In Salt the key of a user without any right is no log-in; here it still proves the name. */
async function byKey(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<Caller | Stranger> {
  const key = textOf(load, 'key');
  if (key === undefined || key === '') return unknownKey(ports);
  const isKey: IsKey = (known) => constantTimeEqual(known, key);
  const holder = await findHolder(ports, isKey, textOf(load, 'user'));
  if (holder === undefined) return unknownKey(ports);
  const caller = callerOf(ports, holder);
  if (caller !== undefined) return caller;
  request.onProven?.({ kind: 'user', principal: holder.owner });
  return unknownKey(ports);
}

/** Finds the caller by its local key alone: neither a token nor a login counts. */
export async function authenticateByKey(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<Caller | Stranger> {
  const caller = await byKey(ports, request, load);
  if (!isStranger(caller)) request.onProven?.(caller);
  return caller;
}

/** The key of a load, as a code or a token that stands for it keeps it. */
export function keptKeyOf(load: SaltMap): KeptKey {
  const user = textOf(load, 'user');
  const hash = hashOfKey(textOf(load, 'key') ?? '');
  return { hash, ...(user === undefined ? {} : { user }) };
}

/** The holder of a kept key with its current rights; undefined once the key is not in use. */
export async function callerOfKept(
  ports: MasterPorts,
  { hash, user }: KeptKey,
): Promise<Caller | undefined> {
  const isKey: IsKey = (known) => constantTimeEqual(hashOfKey(known), hash);
  const holder = await findHolder(ports, isKey, user);
  return holder && callerOf(ports, holder);
}

function hashOfKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** Undefined for a holder without any right. */
function callerOf(
  ports: MasterPorts,
  { user, owner: principal, full }: KeyHolder,
): Caller | undefined {
  const who = { kind: 'user', user, principal } as const;
  if (full) return { ...who, acl: undefined };
  const acl = publisherAcl(ports.rules.access?.publisherAcl, user);
  return acl.length > 0 ? { ...who, acl } : undefined;
}

function unknownKey(ports: MasterPorts): Stranger {
  return stranger(ports, 'user', 'Authentication failure of type "user" occurred');
}

async function byToken(ports: MasterPorts, credentials: SaltMap): Promise<Caller | Stranger> {
  const token = await findToken(ports, credentials.get('token'));
  if (token?.key !== undefined) {
    const caller = await callerOfKept(ports, token.key);
    if (caller === undefined) return unknownToken(ports);
    return { ...caller, kind: 'token', localUser: token.key.user ?? caller.user };
  }
  if (token === undefined || !isEnabled(ports, token.eauth)) return unknownToken(ports);
  const { name } = token;
  return { kind: 'token', user: name, principal: name, ...rightsOfToken(ports, token) };
}

function unknownToken(ports: MasterPorts): Stranger {
  return stranger(ports, 'token', 'Authentication failure of type "token" occurred.');
}

function rightsOfToken(ports: MasterPorts, token: TokenRecord): Pick<Caller, 'acl' | 'granted'> {
  const kept = ports.rules.access?.keepAclInToken === true ? token.authList : undefined;
  if (kept !== undefined) return { acl: readAcl(kept) };
  return grantedRights(ports, token.name, { module: token.eauth, groups: token.groups ?? [] });
}

async function byPassword(
  ports: MasterPorts,
  request: Request,
  credentials: SaltMap,
): Promise<Caller | Stranger> {
  const module = textOf(credentials, 'eauth') ?? '';
  const known = await logIn(ports, request, credentials);
  if (known === undefined) {
    const username = textOf(credentials, 'username') ?? 'UNKNOWN';
    const message = `Authentication failure of type "eauth" occurred for user ${username}.`;
    return stranger(ports, 'eauth', message);
  }
  const { name, groups } = known;
  const rights =
    known.acl === undefined
      ? grantedRights(ports, name, { module, groups })
      : { acl: readAcl(known.acl) };
  return { kind: 'eauth', user: name, principal: name, ...rights };
}

/** The current rights of a name and its groups in `external_auth`. */
export function grantedRights(
  { rules: { access } }: MasterPorts,
  name: string,
  granted: NonNullable<Caller['granted']>,
): Pick<Caller, 'acl' | 'granted'> {
  const { module, groups } = granted;
  if (access === undefined) return { acl: [], granted };
  const acl = grantedTo(access.externalAuth[module], name, groups, access.permissiveAcl);
  return { acl, granted };
}

function stranger(ports: MasterPorts, kind: CallerKind, message: string): Stranger {
  ports.count(`refused_${kind}`);
  return { kind, name: ERROR_NAMES[kind], message };
}

/** The owner of a local key. */
interface KeyHolder {
  /** The user whose rights apply (`bob` for `sudo_bob`). */
  readonly user: string;
  /** Owner of the key, whatever user the load names. */
  readonly owner: string;
  /** True if the key gives all rights; else those of `publisher_acl`. */
  readonly full: boolean;
}

/** Prefix of a minion that published a job: only that minion may read its returns. */
export const MINION_PREFIX = 'minion/';

/** Prefix of a user that called by sudo (salt/auth/__init__.py AuthUser). */
export const SUDO_PREFIX = 'sudo_';

/** True for the key that is looked for. */
type IsKey = (known: string) => boolean;

/**
 * Finds who has a local key (salt/auth/__init__.py `authenticate_key`). The event-bus of each host
 * wrote the keys to `<cachedir>/.<user>_key`. Undefined: refused.
 *
 * In Salt any local key admits a load that names root, `sudo_…` or no user, even the key of a user
 * with few rights in `publisher_acl`. Here that takes a key of root or of the master's own user.
 *
 * An unknown key is read once from the source before it is refused: a host that has just started
 * uses keys that this worker may not have read.
 */
async function findHolder(
  ports: MasterPorts,
  isKey: IsKey,
  user: string | undefined,
): Promise<KeyHolder | undefined> {
  const known = checkKey(ports, isKey, user);
  if (known !== undefined) return known;
  await ports.userKeys.refresh();
  return checkKey(ports, isKey, user);
}

/** True for a key of root, of the master's user, or of the user that the master runs as. */
export function isMastersKey(ports: MasterPorts, key: string): boolean {
  return masterOfKey(ports, (known) => constantTimeEqual(known, key)) !== undefined;
}

/** The user among these who owns the key. */
function masterOfKey({ userKeys, rules }: MasterPorts, isKey: IsKey): string | undefined {
  const users = [...new Set(['root', rules.user, rules.runningUser])];
  return users.filter((user) => applies(userKeys.of(user), isKey)).at(0);
}

function checkKey(
  ports: MasterPorts,
  isKey: IsKey,
  user: string | undefined,
): KeyHolder | undefined {
  const owner = masterOfKey(ports, isKey);
  if (user === undefined) return owner === undefined ? undefined : { user: '', owner, full: true };
  if (user.startsWith(SUDO_PREFIX)) {
    if (owner === undefined) return undefined;
    const access = ports.rules.access;
    const limited = access?.sudoAcl === true && Object.keys(access.publisherAcl).length > 0;
    return { user: user.slice(SUDO_PREFIX.length), owner, full: !limited };
  }
  if (owner !== undefined) return { user, owner, full: true };
  const { user: own, runningUser } = ports.rules;
  if (user === 'root' || user === own || user === runningUser) return undefined;
  return applies(ports.userKeys.of(user), isKey) ? { user, owner: user, full: false } : undefined;
}

/** Compares with all keys, so that the time reveals nothing. */
function applies(keys: readonly string[], isKey: IsKey): boolean {
  return keys.reduce((found, known) => isKey(known) || found, false);
}

/** The form of a token: a digest of any hash that makes tokens. No other text is looked up. */
const TOKEN = /^[0-9a-f]{32,128}$/;

/**
 * The record of a valid token. An expired token is deleted and not used once more (CVE-2021-3144);
 * a text in another form is not looked up (CVE-2020-11652).
 */
export async function findToken(
  ports: MasterPorts,
  token: SaltValue | undefined,
): Promise<TokenRecord | undefined> {
  if (typeof token !== 'string' || !TOKEN.test(token)) return undefined;
  const record = await ports.tokens.find(token);
  if (record === undefined) return undefined;
  if (record.expire * 1000 >= ports.now()) return record;
  await ports.tokens.forget(token);
  ports.count('token_expired');
  return undefined;
}

/**
 * Asks the login module of the credentials, if `external_auth` has rights for it. Other requests
 * get its place while it waits for the module.
 */
export async function logIn(
  ports: MasterPorts,
  request: Request,
  credentials: SaltMap,
): Promise<Vouched | undefined> {
  const module = textOf(credentials, 'eauth');
  const username = textOf(credentials, 'username');
  const password = textOf(credentials, 'password');
  if (module === undefined || !isEnabled(ports, module)) return undefined;
  if (username === undefined || password === undefined) return undefined;
  request.stepAside?.();
  return ports.logins.vouch(module, username, password, request.peer ?? request.gatewayHost);
}

/** True if `external_auth` has rights for a login module. */
export function isEnabled({ rules }: MasterPorts, module: string): boolean {
  return Object.hasOwn(rules.access?.externalAuth ?? {}, module);
}
