import { DEFAULT_ENC_ALGO, DEFAULT_SIG_ALGO } from '../frames/envelope.ts';
import { pack } from '../msgpack/encode.ts';
import { unpackMap } from '../msgpack/splice.ts';
import { needName, optionalName } from '../names.ts';
import type { SaltMap, SaltValue } from '../value.ts';
import { bytesOf, intOf, mapOf } from '../value.ts';
import { fieldError, maybe, needText, optionalMap, optionalText } from './fields.ts';

/*
 * _auth (clear) =>
 *   cmd "_auth"
 *   id text
 *   nonce text, 32 hex digits                     since 3006
 *   pub text, PEM
 *   token bytes, RSA-OAEP to the master           if the minion knows the master's key
 *   enc_algo text, sig_algo text                  since 3006.9
 *   autosign_grains map                           if the minion's option lists grains
 */

/** A minion's request to sign in. */
export interface AuthRequest {
  readonly id: string;
  readonly nonce: string;
  /** PEM text as sent. */
  readonly pub: string;
  readonly token?: Uint8Array;
  readonly encAlgo: string;
  readonly sigAlgo: string;
  readonly autosignGrains?: SaltMap;
}

/**
 * Reads an `_auth` load; throws WireError SALT_WIRE_FIELD (Salt answers with its handling text).
 */
export function parseAuth(load: SaltMap): AuthRequest {
  const token = bytesOf(load, 'token');
  const grains = optionalMap(load, 'autosign_grains', '_auth');
  return {
    // A stock minion retries after a signed refusal, which is the answer to an invalid id.
    id: needText(load, 'id', '_auth'),
    nonce: needName(load, 'nonce', '_auth'),
    pub: needName(load, 'pub', '_auth'),
    encAlgo: optionalName(load, 'enc_algo', '_auth') ?? DEFAULT_ENC_ALGO,
    sigAlgo: optionalName(load, 'sig_algo', '_auth') ?? DEFAULT_SIG_ALGO,
    ...maybe('token', token),
    ...maybe('autosignGrains', grains),
  };
}

/** The `_auth` load of a 3008 minion. */
export function buildAuth(request: AuthRequest): SaltMap {
  return mapOf({
    cmd: '_auth',
    id: request.id,
    nonce: request.nonce,
    enc_algo: request.encAlgo,
    sig_algo: request.sigAlgo,
    token: request.token,
    pub: request.pub,
    autosign_grains: request.autosignGrains,
  });
}

/**
 * Why a log-in is not accepted now: true = key cached, wait; false = rejected (the minion exits);
 * 'full' = too many minions. Only the two algorithm texts may go unsigned.
 */
export type AuthVerdict = boolean | 'full' | 'bad enc algo' | 'bad sig algo';

/** The bytes to sign for a log-in that is not accepted. */
export function buildAuthVerdict(ret: AuthVerdict, nonce: string): Buffer {
  return pack(mapOf({ ret, nonce }));
}

/** The answer to an accepted minion. */
export interface AuthAccept {
  /** The master's public key, PEM text, trimmed. */
  readonly pubKey: string;
  readonly publishPort: number;
  /** The minion's own token, sealed back to it; only if the request had a token that opened. */
  readonly token?: Uint8Array;
  /** The master AES key string, sealed to the minion. */
  readonly aes: Uint8Array;
  /** The session key string, sealed to the minion; minions of 3006.12 and later stop without. */
  readonly session: Uint8Array;
  /** X9.31 block over the hex SHA-256 of the AES key string. */
  readonly sig: Uint8Array;
  /** base64 text with a line feed; only if `master_sign_pubkey` is set. */
  readonly pubSig?: string;
  readonly nonce: string;
}

/** The bytes to sign for an accepted log-in, in the order in which Salt writes them. */
export function buildAuthAccept(accept: AuthAccept): Buffer {
  return pack(
    mapOf({
      enc: 'pub',
      pub_key: accept.pubKey,
      publish_port: accept.publishPort,
      pub_sig: accept.pubSig,
      token: accept.token,
      aes: accept.aes,
      session: accept.session,
      sig: accept.sig,
      nonce: accept.nonce,
    }),
  );
}

/** The signed content of an `_auth` reply. */
export type AuthAnswer =
  | { readonly kind: 'accept'; readonly accept: AuthAccept }
  | { readonly kind: 'verdict'; readonly ret: SaltValue; readonly nonce: string };

/** Reads the signed bytes of an `_auth` reply; throws WireError. */
export function parseAuthAnswer(signed: Uint8Array): AuthAnswer {
  const map = unpackMap(signed);
  const nonce = needText(map, 'nonce', '_auth reply');
  const ret = map.get('ret');
  if (ret !== undefined) return { kind: 'verdict', ret, nonce };
  const publishPort = intOf(map, 'publish_port');
  const aes = bytesOf(map, 'aes');
  const session = bytesOf(map, 'session');
  const sig = bytesOf(map, 'sig');
  if (publishPort === undefined) throw fieldError('_auth reply', 'publish_port', 'an integer');
  if (aes === undefined || session === undefined || sig === undefined) {
    throw fieldError('_auth reply', 'aes, session or sig', 'bytes');
  }
  const accept = {
    pubKey: needText(map, 'pub_key', '_auth reply'),
    publishPort,
    aes,
    session,
    sig,
    nonce,
    ...maybe('token', bytesOf(map, 'token')),
    ...maybe('pubSig', optionalText(map, 'pub_sig', '_auth reply')),
  };
  return { kind: 'accept', accept };
}
