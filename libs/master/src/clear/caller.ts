import { type Acl, grantedTo, publisherAcl, readAcl } from '@brine/acl';
import { type SaltMap, textOf } from '@brine/wire';
import { buildErrorReply } from '@brine/wire/load';
import type { TokenRecord } from '../ports/login-ports.ts';
import type { MasterPorts, Request } from '../ports/ports.ts';
import { isEnabled, logIn } from './log-in.ts';
import type { CallerKind } from './principal.ts';
import type { Proven } from './principal.ts';
import type { ClearRequest } from './principal.ts';
import { authenticateKey } from './principal.ts';
import { findToken } from './tokens.ts';

/** Who asks, and what he may. */
export interface Caller extends Proven {
  /** The user whose rights count. */
  readonly user: string;
  /** Undefined where nothing is forbidden: a key of root or of the master's user. */
  readonly acl: Acl | undefined;
}

/** Somebody who is not let in, in the words of Salt's error map. */
export interface Stranger {
  readonly kind: CallerKind;
  readonly name: string;
  readonly message: string;
}

const ERROR_NAMES = {
  token: 'TokenAuthenticationError',
  eauth: 'EauthAuthenticationError',
  user: 'UserAuthenticationError',
} as const;

/**
 * Who asks (salt/auth/__init__.py `check_authentication`). `credentials` holds the token, or the
 * name and password: the load itself for runners and wheels, its `kwargs` for a publish. Without
 * either the load's local key counts. Texts and their odd full stops are Salt's.
 */
export async function authenticate(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
  credentials: SaltMap = load,
): Promise<Caller | Stranger> {
  const caller = credentials.has('token')
    ? await byToken(ports, credentials)
    : credentials.has('eauth')
      ? await byPassword(ports, request, credentials)
      : await byKey(ports, request, load);
  if (!isStranger(caller)) request.onProven?.(caller);
  return caller;
}

/** Whether the caller was not let in. */
export function isStranger(asked: Caller | Stranger): asked is Stranger {
  return 'message' in asked;
}

/** The refusal of a runner or wheel. */
export function refusalOf({ name, message }: Stranger): SaltMap {
  return buildErrorReply(name, message);
}

/** The words for somebody who is known and may not do this (salt/master.py ClearFuncs.runner). */
export function notAllowed({ kind, user }: Caller): Stranger {
  const message = `Authentication failure of type "${kind}" occurred for user ${user}.`;
  return { kind, name: ERROR_NAMES[kind], message };
}

/** The key of a user without any right is no log-in in Salt, but it is proven whose it is. */
async function byKey(
  ports: MasterPorts,
  request: ClearRequest,
  load: SaltMap,
): Promise<Caller | Stranger> {
  const kind = 'user';
  const holder = await authenticateKey(ports, load);
  if (holder === undefined) return unknownKey(ports);
  const { user, owner: principal, full } = holder;
  if (full) return { kind, user, principal, acl: undefined };
  const acl = publisherAcl(ports.rules.access?.publisherAcl, user);
  if (acl.length > 0) return { kind, user, principal, acl };
  request.onProven?.({ kind, principal });
  return unknownKey(ports);
}

function unknownKey(ports: MasterPorts): Stranger {
  return stranger(ports, 'user', 'Authentication failure of type "user" occurred');
}

async function byToken(ports: MasterPorts, credentials: SaltMap): Promise<Caller | Stranger> {
  const token = await findToken(ports, credentials.get('token'));
  if (token === undefined || !isEnabled(ports, token.eauth)) {
    return stranger(ports, 'token', 'Authentication failure of type "token" occurred.');
  }
  const { name } = token;
  return { kind: 'token', user: name, principal: name, acl: aclOfToken(ports, token) };
}

function aclOfToken(ports: MasterPorts, token: TokenRecord): Acl {
  const kept = ports.rules.access?.keepAclInToken === true ? token.authList : undefined;
  if (kept !== undefined) return readAcl(kept);
  return granted(ports, token.eauth, token.name, token.groups ?? []);
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
  const acl = known.acl === undefined ? granted(ports, module, name, groups) : readAcl(known.acl);
  return { kind: 'eauth', user: name, principal: name, acl };
}

function granted(ports: MasterPorts, module: string, name: string, groups: readonly string[]): Acl {
  const access = ports.rules.access;
  if (access === undefined) return [];
  return grantedTo(access.externalAuth[module], name, groups, access.permissiveAcl);
}

function stranger(ports: MasterPorts, kind: CallerKind, message: string): Stranger {
  ports.count(`refused_${kind}`);
  return { kind, name: ERROR_NAMES[kind], message };
}
