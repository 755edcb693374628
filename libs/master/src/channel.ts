import { CryptError, type Crypticle } from '@brine/crypt';
import { isMinionId } from '@brine/job';
import {
  mapOf,
  type MapScan,
  Refusal,
  RefusalText,
  type SaltValue,
  scanMap,
  WireError,
} from '@brine/wire';
import { checkLoad } from '@brine/wire/frames';
import { keepRefusal } from './aes/return-refusal.ts';
import type { MasterPorts, Request } from './ports/ports.ts';
import type { TokenChecks } from './token-check.ts';

/** An opened and checked request of a minion. */
export interface AesRequest {
  readonly request: Request;
  /** The opened msgpack map, including channel fields. */
  readonly body: Buffer;
  readonly scan: MapScan;
  /** The id in the load; version 2 file requests have none. */
  readonly minion: string | undefined;
  /** True when `tok` was checked: always for version 3. */
  readonly tokenChecked: boolean;
  readonly version: number;
}

/** The envelope of a sealed request, as the wire library read it. */
export interface SealedRequest {
  readonly version: number;
  /** Outer id; version 3 requests must carry one. */
  readonly id?: string;
  readonly load: Uint8Array;
}

/** An opened and checked load, with the key that seals the answer. */
export interface OpenedRequest {
  readonly crypticle: Crypticle;
  /** The msgpack map as it came. */
  readonly body: Buffer;
  readonly scan: MapScan;
  readonly minion: string | undefined;
  readonly nonce: string | undefined;
  readonly tokenChecked: boolean;
}

/** Why the request of a known sender is refused, as a text for people. */
const REFUSED = {
  ttl: 'its time is further away than request_server_ttl allows: is its clock right?',
  id_mismatch: 'it names another minion than the one whose session key sealed it',
  no_token: 'it has no token',
  token: 'its token is not of the key that is accepted',
} as const;
type Refused = keyof typeof REFUSED;

/** The first payload version in which requests are sealed with the minion's own session key. */
export const SESSION_KEY_VERSION = 3;

/**
 * {@link openRequest} for the usual request, without waiting: its key and token are cached here and
 * it is valid. Undefined for any other request, which then has no effect yet.
 */
export function openAtOnce(
  ports: MasterPorts,
  tokens: TokenChecks,
  { version, id, load }: SealedRequest,
): OpenedRequest | undefined {
  if (version < SESSION_KEY_VERSION || id === undefined) return undefined;
  const key = ports.keys.cached(id);
  if (key?.state !== 'accepted') return undefined;
  const opened = openWith(ports.sessions.cached(id), load);
  const scan = opened && scanOf(opened.body);
  // Equal to a name with an accepted key, so it is a text and a valid name.
  if (opened === undefined || scan?.text('id') !== id) return undefined;
  const tok = scan.bytes('tok');
  if (tok === undefined || isOutOfTime(ports, scan.value('ts'))) return undefined;
  if (!checkWith(ports, tokens, id, key.pub, tok)) return undefined;
  return { ...opened, scan, minion: id, nonce: scan.text('nonce'), tokenChecked: true };
}

/**
 * Opens a minion's request and checks it in Salt's order (salt/channel/server.py `handle_message`):
 * key, MAC, id, age, id again, token.
 *
 * @returns the opened request, or the text of its refusal
 */
export async function openRequest(
  ports: MasterPorts,
  tokens: TokenChecks,
  sealed: SealedRequest,
): Promise<OpenedRequest | string> {
  const refuse = (reason: string): string => {
    ports.count(`aes_refused_${reason}`);
    return RefusalText.BAD_LOAD;
  };
  if (
    sealed.version >= SESSION_KEY_VERSION &&
    !(sealed.id !== undefined && isMinionId(sealed.id))
  ) {
    return refuse('id');
  }
  const opened = await unseal(ports, sealed);
  if (opened === undefined) return refuse('mac');
  const scan = scanOf(opened.body);
  if (scan === undefined) return RefusalText.LOAD_NOT_A_MAP;
  if (sealed.version >= SESSION_KEY_VERSION && scan.text('id') === undefined) {
    return refuse('id_mismatch');
  }
  const wrongId = refuseId(scan);
  if (wrongId !== undefined) return wrongId;
  const minion = scan.text('id');
  const nonce = scan.text('nonce');
  const tok = scan.bytes('tok');
  if (sealed.version >= SESSION_KEY_VERSION) {
    const refused: Refused | undefined = isOutOfTime(ports, scan.value('ts'))
      ? 'ttl'
      : minion !== sealed.id
        ? 'id_mismatch'
        : tok === undefined
          ? 'no_token'
          : undefined;
    if (refused !== undefined) {
      await keepRefused(ports, sealed, scan, refused);
      return refuse(refused);
    }
  }
  let tokenChecked = false;
  if (tok !== undefined && minion !== undefined) {
    if (!(await isTokenGood(ports, tokens, minion, tok))) {
      if (sealed.version >= SESSION_KEY_VERSION) await keepRefused(ports, sealed, scan, 'token');
      return refuse('token');
    }
    tokenChecked = true;
  }
  return { ...opened, scan, minion, nonce, tokenChecked };
}

/** The sealer has the session key of the outer id, so the return is that minion's. */
async function keepRefused(
  ports: MasterPorts,
  sealed: SealedRequest,
  scan: MapScan,
  reason: Refused,
): Promise<void> {
  if (scan.text('cmd') !== '_return') return;
  await keepRefusal(ports, { jid: scan.text('jid'), minion: sealed.id }, REFUSED[reason]);
}

/** The cache is never final on a miss or a wrong MAC: the record is read once before a refusal. */
async function unseal(
  ports: MasterPorts,
  sealed: SealedRequest,
): Promise<{ crypticle: Crypticle; body: Buffer } | undefined> {
  if (sealed.version < SESSION_KEY_VERSION) {
    return openWith(ports.aes.forRequests(), sealed.load);
  }
  const id = sealed.id ?? '';
  const opened = openWith(ports.sessions.cached(id), sealed.load);
  if (opened !== undefined) return opened;
  if (!ports.keys.accepted().has(id)) {
    // A key that was accepted a moment ago may not have reached the cache.
    const key = await ports.keys.fetch(id);
    if (key?.state !== 'accepted') return undefined;
  }
  return openWith(await ports.sessions.fetch(id), sealed.load);
}

/** In Salt a blob without the prefix `pickle::` opens to an empty map. */
const EMPTY_MAP = Buffer.from([0x80]);

function openWith(
  keys: readonly Crypticle[],
  load: Uint8Array,
): { crypticle: Crypticle; body: Buffer } | undefined {
  for (const crypticle of keys) {
    try {
      return { crypticle, body: crypticle.open(load) ?? EMPTY_MAP };
    } catch (cause) {
      // A wrong MAC means that it is another key; any other error is a fault of ours.
      if (!(cause instanceof CryptError)) throw cause;
    }
  }
  return undefined;
}

function scanOf(body: Buffer): MapScan | undefined {
  try {
    return scanMap(body);
  } catch (cause) {
    if (cause instanceof WireError) return undefined;
    throw cause;
  }
}

/** The refusals of step 5: an id that is no text, or contains a NUL. */
function refuseId(scan: MapScan): string | undefined {
  if (scan.text('id')?.includes('\0') === false) return undefined;
  try {
    checkLoad(mapOf({ id: scan.value('id') }));
    return undefined;
  } catch (cause) {
    if (cause instanceof Refusal) return cause.text;
    throw cause;
  }
}

/**
 * Salt refuses old requests only. A time in the future would allow a captured request to be
 * replayed for as long as the sender's clock was ahead.
 */
function isOutOfTime(ports: MasterPorts, ts: SaltValue | undefined): boolean {
  const ttl = ports.rules.requestServerTtl;
  if (ttl <= 0) return false;
  return typeof ts !== 'number' || !(Math.abs(ports.now() / 1000 - ts) <= ttl);
}

async function isTokenGood(
  ports: MasterPorts,
  tokens: TokenChecks,
  minion: string,
  tok: Uint8Array,
): Promise<boolean> {
  let key = ports.keys.cached(minion);
  if (key?.state === 'accepted' && checkWith(ports, tokens, minion, key.pub, tok)) return true;
  key = await ports.keys.fetch(minion);
  return key?.state === 'accepted' && checkWith(ports, tokens, minion, key.pub, tok);
}

function checkWith(
  ports: MasterPorts,
  tokens: TokenChecks,
  minion: string,
  pub: string,
  tok: Uint8Array,
): boolean {
  try {
    return tokens.check(ports.keys.parsed(minion, pub), tok);
  } catch (cause) {
    // No minion has the private half of an unusable accepted key.
    if (cause instanceof CryptError) return false;
    throw cause;
  }
}
