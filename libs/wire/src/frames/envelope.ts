import { Refusal, RefusalText, WireError } from '../errors.ts';
import { pack } from '../msgpack/encode.ts';
import type { UnpackLimits } from '../msgpack/limits.ts';
import { fullLimits } from '../msgpack/limits.ts';
import type { MapScan } from '../msgpack/scan.ts';
import { scanMap, Scanner } from '../msgpack/scan.ts';
import { appendPacked, startsMap } from '../msgpack/splice.ts';
import { asBuffer } from '../msgpack/text.ts';
import { pyRepr } from '../text/python-repr.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { isMap, mapOf } from '../value.ts';

/** The algorithm of envelopes that name none, from 3006.8 and older. */
export const DEFAULT_ENC_ALGO = 'OAEP-SHA1';
/** The algorithm of envelopes that name none, from 3006.8 and older. */
export const DEFAULT_SIG_ALGO = 'PKCS1v15-SHA1';

/** Characters of a wrong id that a refusal repeats. */
const MAX_SHOWN_ID = 200;

interface EnvelopeFields {
  /** 0 when missing or not an integer. */
  readonly version: number;
  /** The outer minion id; always there (and a possible file name) for aes from version 3 on. */
  readonly id?: string;
  readonly encAlgo: string;
  readonly sigAlgo: string;
  /** The packed bytes of the load as received: a view. */
  readonly raw: Buffer;
}

/** A request in the clear: `_auth`, and the functions for local clients. */
export interface ClearEnvelope extends EnvelopeFields {
  readonly enc: 'clear';
  readonly load: SaltMap;
}

/** A sealed request; `load` is the Crypticle blob. */
export interface AesEnvelope extends EnvelopeFields {
  readonly enc: 'aes';
  readonly load: Buffer;
}

/** A request as received at port 4506. */
export type Envelope = ClearEnvelope | AesEnvelope;

/** Options for reading envelopes. */
export interface EnvelopeOptions {
  /** Lower versions are refused, for clear requests too; 0 (default) takes all. */
  readonly minimumAuthVersion?: number;
  readonly limits?: UnpackLimits;
}

/**
 * Opens a request frame with the checks that a Salt master makes before it reads the command (Salt:
 * salt/channel/server.py _decode_payload), in its order: form, version, id of a sealed request,
 * then, for clear loads, `checkLoad`, and an unknown `enc` last. Throws only Refusal, with the text
 * to answer, for any bytes.
 */
export function readEnvelope(bytes: Uint8Array, options: EnvelopeOptions = {}): Envelope {
  const scan = scanFrame(bytes, options.limits);
  const raw = scan.raw('load');
  if (raw === undefined || !scan.has('enc')) throw new Refusal(RefusalText.BAD_LOAD);
  const version = versionOf(scan);
  if (version < (options.minimumAuthVersion ?? 0)) throw new Refusal(RefusalText.BAD_LOAD);
  const enc = scan.text('enc');
  const id = scan.text('id');
  const fields = {
    version,
    ...(id === undefined ? {} : { id }),
    encAlgo: scan.text('enc_algo') ?? DEFAULT_ENC_ALGO,
    sigAlgo: scan.text('sig_algo') ?? DEFAULT_SIG_ALGO,
    raw,
  };
  if (enc === 'aes') {
    if (version >= 3 && (id === undefined || !isIdName(id))) {
      throw new Refusal(RefusalText.BAD_LOAD);
    }
    const load = scan.bytes('load');
    if (load === undefined) throw new Refusal(RefusalText.BAD_LOAD);
    return { enc, load, ...fields };
  }
  const load = readValue(scan, options.limits);
  checkLoad(load);
  if (enc !== 'clear') throw new Refusal(RefusalText.HANDLING);
  return { enc, load, ...fields };
}

/** The queue that a request belongs to. */
export type EnvelopeClass = 'auth' | 'clear' | 'aes';

/** The part of a request that a gateway needs. */
export interface EnvelopePeek {
  readonly class: EnvelopeClass;
  /** The outer id of a sealed request, the load's of an `_auth`; not checked in any way. */
  readonly id?: string;
}

/**
 * Returns the class of a request frame, reading as little of it as possible. A frame that
 * `readEnvelope` would refuse after its form counts as clear. Throws Refusal for frames that are
 * not msgpack, no map, or lack `enc` or `load`.
 */
export function peekEnvelope(bytes: Uint8Array, limits?: UnpackLimits): EnvelopePeek {
  const scan = scanFrame(bytes, limits);
  const raw = scan.raw('load');
  if (raw === undefined || !scan.has('enc')) throw new Refusal(RefusalText.BAD_LOAD);
  if (scan.text('enc') === 'aes') {
    const id = scan.text('id');
    return id === undefined ? { class: 'aes' } : { class: 'aes', id };
  }
  if (!startsMap(raw)) return { class: 'clear' };
  const load = scanMap(raw, limits);
  if (load.text('cmd') !== '_auth') return { class: 'clear' };
  const id = load.text('id');
  return id === undefined ? { class: 'auth' } : { class: 'auth', id };
}

function scanFrame(bytes: Uint8Array, limits: UnpackLimits | undefined): MapScan {
  try {
    return scanMap(bytes, limits);
  } catch (cause) {
    // The worker refuses a readable value that is no map; the 3008 device in front of it already
    // refuses unreadable bytes.
    if (cause instanceof WireError && isWholeValue(bytes, limits)) {
      throw new Refusal(RefusalText.BAD_LOAD, { cause });
    }
    throw new Refusal(RefusalText.ROUTING, { asError: true, cause });
  }
}

function isWholeValue(bytes: Uint8Array, limits: UnpackLimits | undefined): boolean {
  const scanner = new Scanner(asBuffer(bytes), 0, fullLimits(limits));
  try {
    scanner.skip(0);
    return scanner.at === bytes.length;
  } catch (error) {
    if (error instanceof WireError) return false;
    throw error;
  }
}

function readValue(scan: MapScan, limits: UnpackLimits | undefined): SaltValue {
  const value = scan.value('load', limits);
  if (value === undefined) throw new Refusal(RefusalText.BAD_LOAD);
  return value;
}

function versionOf(scan: MapScan): number {
  const value = scan.value('version');
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : 0;
}

/**
 * True if an id can be a key's file name, as Salt demands of the outer id
 * (Salt: salt/utils/verify.py valid_id).
 */
export function isIdName(id: string): boolean {
  return id !== '' && id !== '.' && id !== '..' && !/[/\\\0]/.test(id);
}

/**
 * The checks of an opened load, clear or sealed: a map, and an `id` that is text without NUL.
 * Throws Refusal with the text to answer.
 */
export function checkLoad(load: SaltValue | undefined): asserts load is SaltMap {
  if (!isMap(load)) throw new Refusal(RefusalText.LOAD_NOT_A_MAP);
  const id = load.get('id');
  if (id === undefined) return;
  if (typeof id !== 'string') {
    // Salt writes the whole id; a shorter answer is enough.
    const shown = pyRepr(id).slice(0, MAX_SHOWN_ID);
    throw new Refusal(`bad load: id ${shown} is not a string`);
  }
  if (id.includes('\0')) throw new Refusal(RefusalText.ID_HAS_NUL);
}

/** The reply for a refusal. */
export function refusalReply(refusal: Refusal): Buffer {
  return pack(refusal.asError ? mapOf({ error: refusal.text }) : refusal.text);
}

/** A clear request as clients send it. */
export function clearEnvelope(load: SaltMap, version = 3): Buffer {
  return pack(mapOf({ enc: 'clear', load, version }));
}

/** The parts of a sealed request. */
export interface AesEnvelopeParts {
  /** The Crypticle blob. */
  readonly load: Uint8Array;
  readonly version: number;
  readonly id?: string;
  readonly encAlgo?: string;
  readonly sigAlgo?: string;
}

/** A sealed request as minions send it. */
export function aesEnvelope(parts: AesEnvelopeParts): Buffer {
  return pack(
    mapOf({
      enc: 'aes',
      load: parts.load,
      version: parts.version,
      id: parts.id,
      enc_algo: parts.encAlgo,
      sig_algo: parts.sigAlgo,
    }),
  );
}

/** The plain `{"enc": "clear", "load": …}` form in which publish requests are answered. */
export function clearReply(load: SaltValue): Buffer {
  return pack(mapOf({ enc: 'clear', load }));
}

/** The signed clear form: `load` is the packed bytes that were signed, not a map. */
export function signedReply(load: Uint8Array, sig: Uint8Array): Buffer {
  return appendPacked(pack(mapOf({ enc: 'clear', load })), 'sig', pack(sig));
}
