import type { Crypticle } from '@brine/crypt';
import type { TestPeer } from '@brine/testing/peers';
import { mapOf, pack, type SaltMap, type SaltValue } from '@brine/wire';

/** The senders of the frames, and their knowledge. */
export interface Cast {
  /** The minion in whose name most frames are sent. */
  readonly a: TestPeer;
  /** Another minion, whose leaked secrets `a` knows. */
  readonly b: TestPeer;
  /** A minion that revokes its key. */
  readonly leaver: TestPeer;
  /** The key of the local user root. */
  readonly rootKey: string;
}

/** Bytes for port 4506, and how to read the answer. */
export interface Sent {
  readonly body: Buffer;
  /** Keys to open a sealed answer. */
  readonly keys: readonly Crypticle[];
  readonly nonce: string | undefined;
}

/** One line of the table. */
export interface Frame {
  readonly name: string;
  /** Called when sending, so that times and nonces are fresh. */
  readonly make: (cast: Cast) => Sent;
  /** Sends it twice; the second answer counts. */
  readonly twice?: true;
}

/** A clear request. */
export function clear(load: SaltValue, version: SaltValue = 3): Sent {
  return { body: pack(mapOf({ enc: 'clear', load, version })), keys: [], nonce: undefined };
}

/** Deviations of a sealed request from a valid one. */
export interface Sealing {
  readonly sealedWith: Crypticle;
  readonly version: number;
  readonly outerId: SaltValue;
}

/** A sealed request. */
export function sealed(load: SaltMap, how: Sealing): Sent {
  const nonce = load.get('nonce');
  const envelope = {
    enc: 'aes',
    load: how.sealedWith.seal(pack(load)),
    version: how.version,
    id: how.outerId,
    enc_algo: 'OAEP-SHA1',
    sig_algo: 'PKCS1v15-SHA1',
  };
  return {
    body: pack(mapOf(envelope)),
    keys: [how.sealedWith],
    nonce: typeof nonce === 'string' ? nonce : undefined,
  };
}

/** Replaces the value of every field by one of another type. */
export function wrongTypes(fields: SaltMap): SaltMap {
  return new Map([...fields].map(([name, value]) => [name, wrongFor(value)]));
}

function wrongFor(value: SaltValue): SaltValue {
  if (typeof value === 'string') return [1, 'x'];
  if (value instanceof Map) return 7;
  if (Array.isArray(value)) return 'x';
  return mapOf({ x: 1 });
}
