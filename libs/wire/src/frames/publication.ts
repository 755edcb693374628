import { WireError } from '../errors.ts';
import { pack } from '../msgpack/encode.ts';
import type { UnpackLimits } from '../msgpack/limits.ts';
import { scanMap } from '../msgpack/scan.ts';
import { mapOf } from '../value.ts';

/** A frame of port 4505, around a job sealed with the master's AES key. */
export interface Publication {
  /** The Crypticle blob; the signature is of these bytes. */
  readonly load: Uint8Array;
  readonly sig?: Uint8Array;
  readonly sigAlgo?: string;
}

/** Packs a publication. Minions that verify read `sig_algo` whenever there is a `sig`. */
export function publicationEnvelope(publication: Publication): Buffer {
  return pack(
    mapOf({
      enc: 'aes',
      load: publication.load,
      sig: publication.sig,
      sig_algo: publication.sigAlgo,
    }),
  );
}

/**
 * Reads a publication frame. Throws WireError, code SALT_WIRE_FIELD if it is a map but not a sealed
 * publication (a minion ignores those).
 */
export function readPublication(bytes: Uint8Array, limits?: UnpackLimits): Publication {
  const scan = scanMap(bytes, limits);
  const load = scan.bytes('load');
  if (scan.text('enc') !== 'aes' || load === undefined) {
    throw new WireError('SALT_WIRE_FIELD', 'frame is not a sealed publication');
  }
  const sig = scan.bytes('sig');
  const sigAlgo = scan.text('sig_algo');
  return {
    load,
    ...(sig === undefined ? {} : { sig }),
    ...(sigAlgo === undefined ? {} : { sigAlgo }),
  };
}
