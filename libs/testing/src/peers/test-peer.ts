import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Crypticle, minionToken, PrivateKey, PublicKey } from '@brine/crypt';
import { bytesOf, mapOf, pack, type SaltMap, unpack } from '@brine/wire';
import { aesEnvelope, clearEnvelope, DEFAULT_ENC_ALGO, DEFAULT_SIG_ALGO } from '@brine/wire/frames';
import { buildAuth, parseAuthAnswer } from '@brine/wire/load';
import { ZmtpPeer } from '../zmtp.ts';

const ANSWER_MS = 20_000;
const SIGN_IN_TRIES = 60;

/** What an accepted log-in gave a peer. */
interface Secrets {
  /** Of the master, for all its minions. */
  readonly aes: Crypticle;
  /** Of this minion alone. */
  readonly session: Crypticle;
  readonly masterKey: PublicKey;
}

/** A minion without functions: it signs in and sends any bytes. The first send connects. */
export class TestPeer {
  readonly id: string;
  readonly key: PrivateKey;
  readonly #place: { readonly host: string; readonly port: number };
  #connection: ZmtpPeer | undefined;
  #secrets: Secrets | undefined;

  constructor(id: string, key: PrivateKey, port: number, host = '127.0.0.1') {
    this.id = id;
    this.key = key;
    this.#place = { host, port };
  }

  /** A peer with a new key of 2048 bits. */
  static async make(id: string, port: number, host?: string): Promise<TestPeer> {
    return new TestPeer(id, await PrivateKey.generate(2048), port, host);
  }

  get aes(): Crypticle {
    return this.#given.aes;
  }

  get session(): Crypticle {
    return this.#given.session;
  }

  get masterKey(): PublicKey {
    return this.#given.masterKey;
  }

  /** Logs in once; true if accepted. @throws Error for an unsigned answer */
  async tryToSignIn(autosignGrains?: SaltMap): Promise<boolean> {
    const load = new Map([...authLoad(this), ...mapOf({ autosign_grains: autosignGrains })]);
    const reply = unpack(await this.raw(clearEnvelope(load)));
    const signed = reply instanceof Map ? bytesOf(reply, 'load') : undefined;
    if (signed === undefined) throw new Error(`${this.id} got an unsigned answer`);
    const answer = parseAuthAnswer(signed);
    if (answer.kind !== 'accept') return false;
    const open = (sealed: Uint8Array): Crypticle =>
      new Crypticle(this.key.oaepDecrypt(sealed, DEFAULT_ENC_ALGO).toString('ascii'));
    const { aes, session, pubKey } = answer.accept;
    this.#secrets = { aes: open(aes), session: open(session), masterKey: PublicKey.parse(pubKey) };
    return true;
  }

  /** Logs in; tries again while the key is pending. @throws Error after 30 s */
  async signIn(): Promise<void> {
    let cause: unknown;
    for (let attempt = 0; attempt < SIGN_IN_TRIES; attempt += 1) {
      try {
        if (await this.tryToSignIn()) return;
      } catch (error) {
        cause = error;
      }
      await sleep(500);
    }
    throw new Error(`${this.id} could not sign in`, { cause });
  }

  /** Sends a load sealed by its session key (payload version 3), and awaits an answer. */
  async send(load: SaltMap, tok: Uint8Array = minionToken(this.key)): Promise<void> {
    const own = mapOf({ ts: Math.floor(Date.now() / 1000), nonce: newNonce(), tok });
    const body = aesEnvelope({
      load: this.session.seal(pack(new Map([...load, ...own]))),
      version: 3,
      id: this.id,
      encAlgo: DEFAULT_ENC_ALGO,
      sigAlgo: DEFAULT_SIG_ALGO,
    });
    await this.raw(body);
  }

  /**
   * Sends a body as it is and returns the answer.
   * @throws Error if none comes within 20 s, or the connection is closed
   */
  async raw(body: Uint8Array): Promise<Buffer> {
    if (this.#connection === undefined || this.#connection.closed) {
      this.#connection = await ZmtpPeer.open(this.#place);
    }
    try {
      return await this.#connection.request(body, ANSWER_MS);
    } catch (error) {
      // A late answer would be taken for that of the next request.
      this.#connection.close();
      throw error;
    }
  }

  close(): void {
    this.#connection?.close();
  }

  get #given(): Secrets {
    if (this.#secrets === undefined) throw new Error(`${this.id} has not signed in`);
    return this.#secrets;
  }
}

/** The load of a log-in as 3008 sends it, without a token. */
export function authLoad({ id, key }: Pick<TestPeer, 'id' | 'key'>): SaltMap {
  return buildAuth({
    id,
    nonce: newNonce(),
    pub: key.publicKey.pem.trim(),
    encAlgo: DEFAULT_ENC_ALGO,
    sigAlgo: DEFAULT_SIG_ALGO,
  });
}

/** 32 hex digits, as Python's uuid4().hex. */
export function newNonce(): string {
  return randomBytes(16).toString('hex');
}
