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
  /**
   * A key for the user that does not reveal the name: a storm of one user must not delay others.
   */
  readonly user?: string;
  /** False for the master's own user, which no limit may keep from its master. */
  readonly byLogin?: boolean;
  /** The bytes are unique to one command: equal bytes are never a second command. */
  readonly named?: boolean;
}

/** The queue of a request, and the few facts that the gateway needs. */
export type Classified =
  | { readonly class: 'auth'; readonly minion?: string }
  | ClearRequest
  | { readonly class: 'aes'; readonly minion?: string }
  /** Refused here: the exact reply of a stock master. */
  | { readonly class: 'refused'; readonly reply: Buffer };

// Opening a clear load takes time in proportion to its size. Larger ones are only scanned here, and
// refused by a worker if need be. Real log-ins have 1 KB, real publishes without long lists too.
const OPEN_MAX_BYTES = 65_536;

/**
 * Classifies a request frame by its clear envelope. A request that a stock master refuses with any
 * key is refused here with the same reply, so that no worker gets it. Never throws.
 *
 * Salt: salt/channel/server.py ReqServerChannel.handle_message, up to the decryption
 */
export function classify(body: Buffer, minimumAuthVersion: number): Classified {
  const minion = minionOfSealed(body, minimumAuthVersion);
  return minion === undefined ? classifyInFull(body, minimumAuthVersion) : { class: 'aes', minion };
}

/** The same for any request; {@link classify} calls it for unusual forms. */
export function classifyInFull(body: Uint8Array, minimumAuthVersion: number): Classified {
  try {
    return body.length <= OPEN_MAX_BYTES ? opened(body, minimumAuthVersion) : lookedOver(body);
  } catch (error) {
    if (error instanceof Refusal) return { class: 'refused', reply: refusalReply(error) };
    // Not a refusal but a fault of this program, answered as Salt answers its own.
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
    // With a token or a log-in, the request is judged by it alone.
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

/** Includes the proof: a name alone must not use another user's turns. */
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
