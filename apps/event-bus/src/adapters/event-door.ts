import type { RecordMac } from '@brine/crypt';
import type { EventDoor, Passed } from '@brine/host';
import { manageActOf, proofOf } from '@brine/reactor';
import { pack, type SaltMap, textOf, unpackMap, WireError } from '@brine/wire';
import type { LocalKeys } from './local-keys.ts';

/** What the door looks at events with. */
export interface EventDoorParts {
  readonly keys: Pick<LocalKeys, 'isOwn' | 'all'>;
  readonly mac: () => Promise<Pick<RecordMac, 'of'>>;
  /** Whether a text is a token that counts. Rejects while NATS is away. */
  readonly isToken: (text: string) => Promise<boolean>;
  /** Called for each secret that was taken out. */
  readonly onSecret: (kind: SecretKind) => void;
}

/** What may not stand in an event. */
export type SecretKind = 'key' | 'token';

/** Tokens are digests by `hash_type`, in hex: md5 to sha512. */
const TOKEN_LENGTHS: ReadonlySet<number> = new Set([32, 40, 56, 64, 96, 128]);
const HEX = /[0-9a-f]{32,}/g;
/** An event with more of them is a list of digests: all of those behind are taken out unasked. */
const ASKED_MAX = 64;
const COVER = 0x2a;

/**
 * The door at the pull socket: local keys and live tokens leave an event before anything keeps or
 * shows it. Stock runners that manage the reactor send the master's key; the event goes on with a
 * proof in its place.
 */
export function eventDoor(parts: EventDoorParts): EventDoor {
  return (tag, body) => {
    if (manageActOf(tag) !== undefined) return manageEvent(tag, body, parts);
    return covered(body, parts);
  };
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

/** The event with stars over its secrets: as long as before, so that nothing else moves. */
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
  // While NATS is away, what has the form of a token is taken for one.
  const answers = await Promise.all(asked.map((text) => isToken(text).catch(() => true)));
  const harmless = new Set(asked.filter((_text, at) => answers[at] === false));
  for (const { 0: text, index = 0 } of found) {
    if (harmless.has(text)) continue;
    bytes.fill(COVER, index, index + text.length);
    onSecret('token');
  }
  return { body: bytes };
}
