import { createHash } from 'node:crypto';
import { Refusal, RefusalText, type SaltMap, scanMap } from '@brine/wire';
import {
  type ClearEnvelope,
  minionOfSealed,
  peekEnvelope,
  readEnvelope,
  refusalReply,
} from '@brine/wire/frames';
import { COMMAND_NAME } from '@brine/wire/load';

/** A clear request, and the user that sent it. */
export interface ClearRequest {
  readonly class: 'clear';
  readonly cmd?: string;
  /** Stands for the user, and does not tell the name: a storm of one must not delay others. */
  readonly user?: string;
  /** Not the master's own user, which no limit may keep from its master. */
  readonly byLogin?: boolean;
  /** Its bytes are those of one command: the same ones are never a second. */
  readonly named?: boolean;
}

/** Which queue a request goes to, and the little that the gateway needs to know of it. */
export type Classified =
  | { readonly class: 'auth'; readonly minion?: string }
  | ClearRequest
  | { readonly class: 'aes'; readonly minion?: string }
  /** Refused here: the exact reply of a stock master. */
  | { readonly class: 'refused'; readonly reply: Buffer };

// Opening a clear load takes time in proportion to it. Larger ones are only looked over here, and
// refused by a worker if need be; real log-ins are 1 KB, real publishes without long lists too.
const OPEN_MAX_BYTES = 65_536;

/**
 * Tells what a request frame is by its clear envelope. What a stock master refuses whatever its
 * keys are, is refused here with its very reply, so that no worker sees it. Never throws.
 *
 * Salt: salt/channel/server.py ReqServerChannel.handle_message, up to the decryption
 */
export function classify(body: Buffer, minimumAuthVersion: number): Classified {
  const minion = minionOfSealed(body, minimumAuthVersion);
  return minion === undefined ? classifyInFull(body, minimumAuthVersion) : { class: 'aes', minion };
}

/** The same of any request; {@link classify} leaves to it what is not of the usual form. */
export function classifyInFull(body: Uint8Array, minimumAuthVersion: number): Classified {
  try {
    return body.length <= OPEN_MAX_BYTES ? opened(body, minimumAuthVersion) : lookedOver(body);
  } catch (error) {
    if (error instanceof Refusal) return { class: 'refused', reply: refusalReply(error) };
    // Not a refusal: a fault of ours. It is answered as Salt answers its own.
    const fault = new Refusal(RefusalText.HANDLING, { cause: error });
    return { class: 'refused', reply: refusalReply(fault) };
  }
}

function opened(body: Uint8Array, minimumAuthVersion: number): Classified {
  const envelope = readEnvelope(body, { minimumAuthVersion });
  if (envelope.enc === 'aes') return withMinion('aes', envelope.id);
  return clear(envelope);
}

function clear(envelope: ClearEnvelope): Classified {
  const cmd = envelope.load.get('cmd');
  if (cmd !== '_auth') {
    if (typeof cmd !== 'string') return { class: 'clear' };
    // If there is a token or a log-in, the request is judged by it, whatever else it has.
    const byLogin = envelope.load.has('token') || envelope.load.has('eauth');
    const user = userOf(envelope.load);
    return { class: 'clear', cmd, user, byLogin, ...isNamed(envelope.load.has(COMMAND_NAME)) };
  }
  const id = envelope.load.get('id');
  return withMinion('auth', typeof id === 'string' ? id : undefined);
}

/** The user whose requests are limited if workers stall on them. */
export function askerOf({ user, byLogin }: ClearRequest): { readonly asker?: string } {
  return byLogin === true && user !== undefined ? { asker: user } : {};
}

/** The proof is part of it: a name alone is not enough to take another user's turns. */
function userOf(load: SaltMap): string {
  const hash = createHash('sha256');
  for (const field of ['user', 'username', 'eauth', 'key', 'token', 'password']) {
    const value = load.get(field);
    hash.update(typeof value === 'string' ? `${field}=${value}\n` : '\n');
  }
  return hash.digest('base64url');
}

function lookedOver(body: Uint8Array): Classified {
  const peek = peekEnvelope(body);
  if (peek.class !== 'clear') return withMinion(peek.class, peek.id);
  const load = scanMap(body).raw('load');
  if (load === undefined || !startsMap(load)) return { class: 'clear' };
  const fields = scanMap(load);
  const cmd = fields.text('cmd');
  if (cmd === undefined) return { class: 'clear' };
  return { class: 'clear', cmd, ...isNamed(fields.text(COMMAND_NAME) !== undefined) };
}

function isNamed(named: boolean): Pick<ClearRequest, 'named'> {
  return named ? { named } : {};
}

function withMinion(cls: 'auth' | 'aes', minion: string | undefined): Classified {
  return minion === undefined ? { class: cls } : { class: cls, minion };
}

function startsMap(bytes: Uint8Array): boolean {
  const type = bytes[0] ?? 0;
  return (type >= 0x80 && type <= 0x8f) || type === 0xde || type === 0xdf;
}
