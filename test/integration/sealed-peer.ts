import { randomBytes } from 'node:crypto';
import { Crypticle, minionToken, PrivateKey } from '@brine/crypt';
import { ZmtpPeer } from '@brine/testing';
import { bytesOf, mapOf, pack, type SaltMap, unpackMap } from '@brine/wire';
import { aesEnvelope, clearEnvelope, DEFAULT_ENC_ALGO, DEFAULT_SIG_ALGO } from '@brine/wire/frames';
import { type AuthAnswer, buildAuth, parseAuthAnswer } from '@brine/wire/load';

const ANSWER_MS = 20_000;

/** A minion of no functions, which says whatever a test wants the master to hear. */
export class SealedPeer {
  readonly id: string;
  readonly key: PrivateKey;
  readonly #peer: ZmtpPeer;
  #session: Crypticle | undefined;

  private constructor(id: string, key: PrivateKey, peer: ZmtpPeer) {
    this.id = id;
    this.key = key;
    this.#peer = peer;
  }

  static async open(id: string, port: number, host = '127.0.0.1'): Promise<SealedPeer> {
    const peer = await ZmtpPeer.open({ host, port });
    return new SealedPeer(id, await PrivateKey.generate(2048), peer);
  }

  /** Asks to sign in. Accepted, it gives the secrets that the master handed over, as texts. */
  async signIn(autosignGrains: SaltMap): Promise<{ aes: string; session: string } | undefined> {
    const answer = await this.#auth(autosignGrains);
    if (answer.kind !== 'accept') return undefined;
    const open = (sealed: Uint8Array): string =>
      this.key.oaepDecrypt(sealed, DEFAULT_ENC_ALGO).toString('utf8');
    const { aes, session } = answer.accept;
    this.#session = new Crypticle(open(session));
    return { aes: open(aes), session: open(session) };
  }

  /** Sends a load sealed; an answer or none, both are fine. */
  async send(load: SaltMap, tok: Uint8Array = minionToken(this.key)): Promise<void> {
    const session = this.#session;
    if (session === undefined) throw new Error('not signed in');
    const own = mapOf({ ts: Math.floor(Date.now() / 1000), nonce: nonce(), tok });
    const body = aesEnvelope({
      load: session.seal(pack(new Map([...load, ...own]))),
      version: 3,
      id: this.id,
      encAlgo: DEFAULT_ENC_ALGO,
      sigAlgo: DEFAULT_SIG_ALGO,
    });
    await this.#peer.request(body, ANSWER_MS);
  }

  /** Sends a body as it is and gives the answer. */
  raw(body: Uint8Array): Promise<Buffer> {
    return this.#peer.request(body, ANSWER_MS);
  }

  close(): void {
    this.#peer.close();
  }

  async #auth(autosignGrains: SaltMap): Promise<AuthAnswer> {
    const load = buildAuth({
      id: this.id,
      nonce: nonce(),
      pub: this.key.publicKey.pem,
      encAlgo: DEFAULT_ENC_ALGO,
      sigAlgo: DEFAULT_SIG_ALGO,
      autosignGrains,
    });
    const inner = bytesOf(unpackMap(await this.raw(clearEnvelope(load))), 'load');
    if (inner === undefined) throw new Error('an unsigned answer');
    return parseAuthAnswer(inner);
  }
}

function nonce(): string {
  return randomBytes(16).toString('hex');
}
