import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Crypticle, type PrivateKey, PublicKey } from '@brine/crypt';
import { ZmtpPeer } from '@brine/testing';
import { bytesOf, unpack } from '@brine/wire';
import { clearEnvelope, DEFAULT_ENC_ALGO, DEFAULT_SIG_ALGO } from '@brine/wire/frames';
import { buildAuth, parseAuthAnswer } from '@brine/wire/load';

const ANSWER_MS = 20_000;
const SIGN_IN_TRIES = 60;

/** A minion without functions: its keys after signing in, and a way to send any bytes. */
export class TablePeer {
  readonly id: string;
  readonly key: PrivateKey;
  readonly #port: number;
  #peer: ZmtpPeer | undefined;
  #secrets: { readonly aes: Crypticle; readonly session: Crypticle } | undefined;

  constructor(id: string, key: PrivateKey, port: number) {
    this.id = id;
    this.key = key;
    this.#port = port;
  }

  /** The master's AES key, as this minion received it. */
  get aes(): Crypticle {
    return this.#held.aes;
  }

  /** The key of this minion alone. */
  get session(): Crypticle {
    return this.#held.session;
  }

  /** The master's public key, for verifying answers. */
  masterKey: PublicKey | undefined;

  /** Signs in; retries while the key is pending. */
  async signIn(): Promise<void> {
    for (let attempt = 0; attempt < SIGN_IN_TRIES; attempt += 1) {
      const body = await this.raw(clearEnvelope(authLoad(this))).catch(() => undefined);
      if (body === undefined) this.close();
      const reply = body === undefined ? undefined : unpack(body);
      const signed = reply instanceof Map ? bytesOf(reply, 'load') : undefined;
      const answer = signed === undefined ? undefined : parseAuthAnswer(signed);
      if (answer?.kind === 'accept') {
        const open = (sealed: Uint8Array): Crypticle =>
          new Crypticle(this.key.oaepDecrypt(sealed, DEFAULT_ENC_ALGO).toString('ascii'));
        const { aes, session, pubKey } = answer.accept;
        this.#secrets = { aes: open(aes), session: open(session) };
        this.masterKey = PublicKey.parse(pubKey);
        return;
      }
      await sleep(500);
    }
    throw new Error(`${this.id} could not sign in`);
  }

  /**
   * Sends a body unchanged and returns the answer.
   * @throws Error if none comes within 20 s, or the connection ends
   */
  async raw(body: Uint8Array): Promise<Buffer> {
    if (this.#peer === undefined || this.#peer.closed) {
      this.#peer = await ZmtpPeer.open({ port: this.#port });
    }
    try {
      return await this.#peer.request(body, ANSWER_MS);
    } catch (error) {
      // A late answer would be taken for that of the next request.
      this.#peer.close();
      throw error;
    }
  }

  close(): void {
    this.#peer?.close();
  }

  get #held(): { readonly aes: Crypticle; readonly session: Crypticle } {
    if (this.#secrets === undefined) throw new Error(`${this.id} has not signed in`);
    return this.#secrets;
  }
}

/** The load of a log-in as 3008 sends it, without a token. */
export function authLoad(peer: Pick<TablePeer, 'id' | 'key'>): ReturnType<typeof buildAuth> {
  return buildAuth({
    id: peer.id,
    nonce: newNonce(),
    pub: peer.key.publicKey.pem.trim(),
    encAlgo: DEFAULT_ENC_ALGO,
    sigAlgo: DEFAULT_SIG_ALGO,
  });
}

/** 32 hex digits, as Python's uuid4().hex. */
export function newNonce(): string {
  return randomBytes(16).toString('hex');
}
