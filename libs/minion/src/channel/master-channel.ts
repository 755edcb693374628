import { randomBytes } from 'node:crypto';
import { CryptError, Crypticle, minionToken } from '@brine/crypt';
import { pack, type SaltMap, type SaltValue, unpack } from '@brine/wire';
import { aesEnvelope } from '@brine/wire/frames';
import {
  buildPillar,
  parsePrivateData,
  parsePrivateReply,
  parseSignedPrivate,
} from '@brine/wire/load';
import { MinionError } from '../errors.ts';
import type { Clock, MasterRequests } from '../ports.ts';
import type { Authenticator } from './authenticator.ts';
import type { Credentials, SignInIdentity } from './sign-in.ts';

/** The parts of a channel. */
export interface MasterChannelParts {
  readonly me: SignInIdentity;
  readonly requests: MasterRequests;
  readonly authenticator: Authenticator;
  readonly clock: Clock;
}

/** The options of one request. */
export interface ChannelRequest {
  readonly timeoutMs: number;
  readonly tries: number;
  readonly signal: AbortSignal;
}

// From 3006.12 on: session keys, token in each request.
const VERSION = 3;
// A text shorter than a MAC is no sealed answer (Salt: salt/crypt.py AuthenticationError).
const MAC_BYTES = 32;

class StaleKey extends Error {}

/** A text in place of a sealed answer, as `Some exception handling minion payload`. */
class Unsealed extends Error {}

/** Sealed requests to the master; signs in again when the master has other keys. */
export class MasterChannel {
  readonly #parts: MasterChannelParts;
  readonly #tok: Buffer;

  constructor(parts: MasterChannelParts) {
    this.#parts = parts;
    this.#tok = minionToken(parts.me.key);
  }

  /**
   * Sends a load and returns the master's answer. Throws MinionError SALT_MINION_REQUEST when no
   * try brought a usable answer, SALT_MINION_REFUSED when the last answer was a refusal.
   */
  async send(load: SaltMap, request: ChannelRequest): Promise<SaltValue> {
    return this.#withTries(request, async (credentials) => {
      const nonce = newNonce();
      const reply = await this.#exchange(load, nonce, credentials, request);
      const sealed = unpack(reply);
      if (typeof sealed === 'string' && Buffer.byteLength(sealed) < MAC_BYTES) throw new StaleKey();
      if (!(sealed instanceof Uint8Array)) throw new Unsealed('the answer is not sealed');
      const body = openOrStale(() => credentials.session.openReply(sealed, nonce));
      return body === undefined ? new Map() : unpack(body);
    });
  }

  /** Sends the grains and gets the pillar, which the master signs for this request. */
  async pillar(grains: SaltMap, request: ChannelRequest): Promise<SaltValue> {
    const { me } = this.#parts;
    const load = buildPillar({ id: me.id, grains, ver: '2' });
    return this.#withTries(request, async (credentials) => {
      const nonce = newNonce();
      const reply = await this.#exchange(load, nonce, credentials, request);
      const outer = unpack(reply);
      if (!(outer instanceof Map) || !outer.has('key')) throw new StaleKey();
      return openPillar(me, credentials, reply, nonce);
    });
  }

  async #exchange(
    load: SaltMap,
    nonce: string,
    credentials: Credentials,
    request: ChannelRequest,
  ): Promise<Uint8Array> {
    const { me, requests, clock } = this.#parts;
    const full: SaltMap = new Map(load);
    full.set('nonce', nonce);
    full.set('ts', Math.floor(clock.nowMs() / 1000));
    full.set('tok', this.#tok);
    full.set('id', me.id);
    const body = aesEnvelope({
      load: credentials.session.seal(pack(full)),
      version: VERSION,
      id: me.id,
      encAlgo: me.encAlgo,
      sigAlgo: me.sigAlgo,
    });
    return requests.request(body, { timeoutMs: request.timeoutMs, signal: request.signal });
  }

  async #withTries<T>(
    request: ChannelRequest,
    exchange: (credentials: Credentials) => Promise<T>,
  ): Promise<T> {
    let last: unknown;
    for (let i = 0; i < request.tries; i += 1) {
      request.signal.throwIfAborted();
      try {
        return await this.#oneTry(request.signal, exchange);
      } catch (error) {
        last = error;
      }
    }
    const code = last instanceof Unsealed ? 'SALT_MINION_REFUSED' : 'SALT_MINION_REQUEST';
    throw new MinionError(code, 'the master gave no usable answer', { cause: last });
  }

  /** `bad load` and foreign seals mean new keys: signs in and sends again. */
  async #oneTry<T>(
    signal: AbortSignal,
    exchange: (credentials: Credentials) => Promise<T>,
  ): Promise<T> {
    const { authenticator } = this.#parts;
    const credentials = authenticator.current ?? (await authenticator.renew(undefined, signal));
    try {
      return await exchange(credentials);
    } catch (error) {
      if (!(error instanceof StaleKey)) throw error;
      return exchange(await authenticator.renew(credentials, signal));
    }
  }
}

function newNonce(): string {
  return randomBytes(16).toString('hex');
}

function openOrStale<T>(open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (error instanceof CryptError && error.code === 'SALT_CRYPT_MAC') throw new StaleKey();
    throw error;
  }
}

/** Salt: salt/channel/client.py crypted_transfer_decode_dictentry. */
function openPillar(
  me: SignInIdentity,
  credentials: Credentials,
  reply: Uint8Array,
  nonce: string,
): SaltValue {
  const outer = parsePrivateReply(reply);
  const inner = new Crypticle(me.key.oaepDecrypt(outer.key, me.encAlgo).toString('utf8'));
  const signed = inner.open(outer.pillar);
  if (signed === undefined) throw new Error('the pillar is not sealed');
  const { data, sig } = parseSignedPrivate(signed);
  if (!credentials.masterKey.verify(data, sig, me.sigAlgo)) {
    throw new Error('the pillar is not signed by the master');
  }
  const content = parsePrivateData(data);
  const bound = Buffer.compare(Buffer.from(content.key), Buffer.from(outer.key)) === 0;
  if (!bound || content.nonce !== nonce) throw new Error('the pillar belongs to another request');
  return content.pillar;
}
