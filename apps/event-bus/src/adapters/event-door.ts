import type { RecordMac } from '@brine/crypt';
import type { EventDoor, Passed } from '@brine/host';
import { manageActOf, proofOf } from '@brine/reactor';
import { pack, type SaltMap, textOf, unpackMap, WireError } from '@brine/wire';
import { hasSecretArguments, hasSecretReturn } from '@brine/wire/load';
import type { LocalKeys } from './local-keys.ts';

/** The parts of the door. */
export interface EventDoorParts {
  readonly keys: Pick<LocalKeys, 'isOwn' | 'all'>;
  readonly mac: () => Promise<Pick<RecordMac, 'of'>>;
  /** True if a text is a valid token. Rejects while NATS is unreachable. */
  readonly isToken: (text: string) => Promise<boolean>;
  /** Called for each secret that was removed. */
  readonly onSecret: (kind: SecretKind) => void;
  /** Removes the entry of a run that a stock tool wrote into the job cache of this host. */
  readonly forget: (jid: string) => void;
}

/** The kinds of secrets in events. */
export type SecretKind = 'key' | 'token' | 'run';

/** Tokens are digests by `hash_type`, in hex: md5 to sha512. */
const TOKEN_LENGTHS: ReadonlySet<number> = new Set([32, 40, 56, 64, 96, 128]);
const HEX = /[0-9a-f]{32,}/g;
/** An event with more candidates is a list of digests: all further ones are removed unasked. */
const ASKED_MAX = 64;
const COVER = 0x2a;
/** Events of a runner or a wheel that a stock tool runs itself (salt/client/mixins.py `low`). */
const OF_RUN = /^salt\/(run|wheel)\/(\d{20})\/(new|ret)$/;
/** Replaces a secret return of a run; the tool has printed it already. */
const NOT_SHOWN = 'not shown: it is a secret';

/**
 * The door at the pull socket. Local keys and live tokens leave an event before it is kept or
 * shown. So do arguments and returns of functions that take or give secrets. Stock runners that
 * manage the reactor send the master's key; the event continues with a proof in its place.
 */
export function eventDoor(parts: EventDoorParts): EventDoor {
  return (tag, body) => {
    if (manageActOf(tag) !== undefined) return manageEvent(tag, body, parts);
    const [, kind, jid = '', suffix] = OF_RUN.exec(tag) ?? [];
    const left = kind === undefined ? undefined : withoutSecrets(kind, body);
    if (left === undefined) return covered(body, parts);
    parts.onSecret('run');
    // The tool writes its entry before this event (salt/client/mixins.py `low`).
    if (suffix === 'ret') parts.forget(jid);
    return covered(left, parts);
  };
}

/** Undefined for a run without secrets. The master's own runs leave out the same. */
function withoutSecrets(kind: string, body: Uint8Array): Uint8Array | undefined {
  const data = readMap(body);
  const fun = data === undefined ? undefined : textOf(data, 'fun');
  if (data === undefined || fun === undefined) return undefined;
  // A runner that Salt refuses to run has no kind before its name (salt/runner.py).
  const names = [fun, `${kind === 'run' ? 'runner' : 'wheel'}.${fun}`];
  const takes = names.some(hasSecretArguments);
  const gives = names.some(hasSecretReturn);
  if (!takes && !gives) return undefined;
  data.set('fun_args', []);
  if (gives && data.has('return')) data.set('return', NOT_SHOWN);
  return pack(data);
}

async function manageEvent(tag: string, body: Uint8Array, parts: EventDoorParts): Promise<Passed> {
  const data = readMap(body);
  const key = data === undefined ? undefined : textOf(data, 'key');
  if (data === undefined || key === undefined) return covered(body, parts);
  data.delete('key');
  parts.onSecret('key');
  const left = await covered(pack(data), parts);
  if (!(await parts.keys.isOwn(key))) return left;
  return { ...left, proof: proofOf(await parts.mac(), { tag, body: left.body }, Date.now()) };
}

function readMap(body: Uint8Array): SaltMap | undefined {
  try {
    return unpackMap(body);
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

/** The event with stars over its secrets: as long as before, so that no offset changes. */
function covered(body: Uint8Array, parts: EventDoorParts): Passed | Promise<Passed> {
  const bytes = Buffer.from(body);
  for (const key of parts.keys.all()) {
    for (let at = bytes.indexOf(key, 0, 'latin1'); at >= 0; at = bytes.indexOf(key, at, 'latin1')) {
      bytes.fill(COVER, at, at + key.length);
      parts.onSecret('key');
    }
  }
  const found = [...bytes.toString('latin1').matchAll(HEX)].filter(([text]) =>
    TOKEN_LENGTHS.has(text.length),
  );
  return found.length === 0 ? { body: bytes } : coverTokens(bytes, found, parts);
}

async function coverTokens(
  bytes: Buffer,
  found: readonly RegExpMatchArray[],
  { isToken, onSecret }: EventDoorParts,
): Promise<Passed> {
  const texts = [...new Set(found.map(([text]) => text))];
  const asked = texts.slice(0, ASKED_MAX);
  // While NATS is unreachable, every text in the form of a token is taken for one.
  const answers = await Promise.all(asked.map((text) => isToken(text).catch(() => true)));
  const harmless = new Set(asked.filter((_text, at) => answers[at] === false));
  for (const { 0: text, index = 0 } of found) {
    if (harmless.has(text)) continue;
    bytes.fill(COVER, index, index + text.length);
    onSecret('token');
  }
  return { body: bytes };
}
