import { pack } from '../msgpack/encode.ts';
import { unpackMap } from '../msgpack/splice.ts';
import { checkNames } from '../names.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { mapOf } from '../value.ts';
import { fieldError, maybe, needBytes, needText, optionalMap, optionalText } from './fields.ts';

/*
 * _pillar (aes) =>
 *   cmd "_pillar"
 *   id text
 *   grains map
 *   saltenv text | nil, pillarenv text | nil
 *   pillar_override map, extra_minion_data map
 *   ver text                                      "2": answered in the private form
 *   ext text                                      on-demand pillar
 *   clean_cache bool
 */

/** A minion's request for its pillar. */
export interface PillarRequest {
  readonly id: string;
  readonly grains: SaltMap;
  readonly saltenv?: string;
  readonly pillarenv?: string;
  readonly pillarOverride?: SaltMap;
  readonly extraMinionData?: SaltMap;
  readonly ver?: string;
  readonly ext?: string;
}

/** Reads a `_pillar` load; throws WireError SALT_WIRE_FIELD. */
export function parsePillar(load: SaltMap): PillarRequest {
  checkNames(load, '_pillar');
  const ver = load.get('ver');
  return {
    id: needText(load, 'id', '_pillar'),
    grains: optionalMap(load, 'grains', '_pillar') ?? mapOf({}),
    ...maybe('saltenv', optionalText(load, 'saltenv', '_pillar')),
    ...maybe('pillarenv', optionalText(load, 'pillarenv', '_pillar')),
    ...maybe('pillarOverride', optionalMap(load, 'pillar_override', '_pillar')),
    ...maybe('extraMinionData', optionalMap(load, 'extra_minion_data', '_pillar')),
    ...maybe('ver', typeof ver === 'string' ? ver : undefined),
    ...maybe('ext', optionalText(load, 'ext', '_pillar')),
  };
}

/** The `_pillar` load as a minion sends it. */
export function buildPillar(request: PillarRequest): SaltMap {
  return mapOf({
    id: request.id,
    grains: request.grains,
    saltenv: request.saltenv ?? null,
    pillarenv: request.pillarenv ?? null,
    pillar_override: request.pillarOverride ?? new Map(),
    extra_minion_data: request.extraMinionData ?? new Map(),
    ver: request.ver ?? '2',
    ext: request.ext,
    cmd: '_pillar',
  });
}

/** The signed part of a private reply: the pillar bound to its key and to the request's nonce. */
export interface PrivateData {
  /** The fresh Crypticle key string, sealed to the minion: the bytes of the outer `key`. */
  readonly key: Uint8Array;
  readonly pillar: SaltValue;
  readonly nonce: string;
}

/** The bytes of D, to be signed (Salt: salt/channel/server.py _encrypt_private). */
export function buildPrivateData(data: PrivateData): Buffer {
  return pack(mapOf({ key: data.key, pillar: data.pillar, nonce: data.nonce }));
}

/** Reads D; throws WireError. */
export function parsePrivateData(bytes: Uint8Array): PrivateData {
  const map = unpackMap(bytes);
  const pillar = map.get('pillar');
  if (pillar === undefined) throw fieldError('private reply', 'pillar', 'there');
  return {
    key: needBytes(map, 'key', 'private reply'),
    pillar,
    nonce: needText(map, 'nonce', 'private reply'),
  };
}

/**
 * The map `{"data": D, "sig": S}` that goes, without nonce, into the Crypticle of a private reply.
 */
export function buildSignedPrivate(data: Uint8Array, sig: Uint8Array): Buffer {
  return pack(mapOf({ data, sig }));
}

/** Reads what `buildSignedPrivate` writes; throws WireError. */
export function parseSignedPrivate(bytes: Uint8Array): {
  readonly data: Uint8Array;
  readonly sig: Uint8Array;
} {
  const map = unpackMap(bytes);
  return {
    data: needBytes(map, 'data', 'private reply'),
    sig: needBytes(map, 'sig', 'private reply'),
  };
}

/** The outer, unencrypted map of a private reply. */
export function buildPrivateReply(key: Uint8Array, pillar: Uint8Array): Buffer {
  return pack(mapOf({ key, pillar }));
}

/** Reads the outer map of a private reply; throws WireError (a minion then signs in again). */
export function parsePrivateReply(bytes: Uint8Array): {
  readonly key: Uint8Array;
  readonly pillar: Uint8Array;
} {
  const map = unpackMap(bytes);
  return {
    key: needBytes(map, 'key', 'private reply'),
    pillar: needBytes(map, 'pillar', 'private reply'),
  };
}
