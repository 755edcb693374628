import { createHash } from 'node:crypto';
import type { PrivateKey } from '@brine/crypt';
import { Crypticle, newKeyString, PublicKey } from '@brine/crypt';
import type { Clock, MasterKeyFile, MasterPort, Publications } from '@brine/minion';
import { Wakeup } from '@brine/tasks';
import type { SaltMap, SaltValue } from '@brine/wire';
import { cutFields, mapOf, pack, textOf, unpackMap } from '@brine/wire';
import { publicationEnvelope, readEnvelope, signedReply } from '@brine/wire/frames';
import type { AuthVerdict } from '@brine/wire/load';
import {
  buildAuthAccept,
  buildAuthVerdict,
  buildPrivateData,
  buildPrivateReply,
  buildSignedPrivate,
  parseAuth,
} from '@brine/wire/load';

const ENC = 'OAEP-SHA1';
const SIG = 'PKCS1v15-SHA1';

/** A master that answers as Salt's does; its fields change the answers. */
export class TestMaster implements MasterPort {
  readonly key: PrivateKey;
  readonly loads: SaltMap[] = [];
  readonly auth = { request: (body: Uint8Array) => this.#answer(body) };
  readonly requests = this.auth;
  aes = new Crypticle(newKeyString());
  session = new Crypticle(newKeyString());
  /** Replaces the answer to a request; undefined for the usual one. */
  tamper: (cmd: string, reply: Buffer) => Buffer | undefined = () => undefined;
  verdict: AuthVerdict | undefined;
  pillar: SaltValue = mapOf({ site: 'x' });
  signIns = 0;
  serial = 0;
  /** True if a subscriber gets a connection. */
  reachable = true;
  /** Notifies the last subscriber that its connection is up, or lost. */
  link: (isUp: boolean) => void = () => undefined;
  readonly #frames = new Frames();
  readonly #waiting: { readonly cmd: string; resolve(load: SaltMap): void }[] = [];

  constructor(key: PrivateKey) {
    this.key = key;
  }

  subscribe(_publishPort?: number, onLink?: (isUp: boolean) => void): Publications {
    this.link = onLink ?? this.link;
    if (this.reachable) this.link(true);
    return this.#frames;
  }

  /** Makes all keys new, as a restarting master does. */
  rotate(): void {
    this.aes = new Crypticle(newKeyString());
    this.session = new Crypticle(newKeyString());
  }

  frame(job: SaltMap, key: PrivateKey = this.key): Buffer {
    this.serial += 1;
    const load = this.aes.seal(pack(new Map([...job, ['serial', this.serial]])));
    return publicationEnvelope({ load, sig: key.sign(load, SIG), sigAlgo: SIG });
  }

  publish(frame: Uint8Array): void {
    this.#frames.push(frame);
  }

  /** The next load with this command. */
  next(cmd: string): Promise<SaltMap> {
    return new Promise((resolve) => this.#waiting.push({ cmd, resolve }));
  }

  async #answer(body: Uint8Array): Promise<Uint8Array> {
    const envelope = readEnvelope(body, { minimumAuthVersion: 3 });
    if (envelope.enc === 'clear') {
      this.signIns += 1;
      const reply = this.#signIn(envelope.load);
      return this.tamper('_auth', reply) ?? reply;
    }
    let opened: Buffer | undefined;
    try {
      opened = this.session.open(envelope.load);
    } catch {
      return pack('bad load');
    }
    const load = unpackMap(opened ?? Buffer.from([0x80]));
    const cmd = textOf(load, 'cmd') ?? '';
    const nonce = textOf(load, 'nonce') ?? '';
    const plain =
      cmd === '_pillar'
        ? this.#privateReply(nonce)
        : pack(this.session.seal(pack(null), { nonce }));
    const reply = this.tamper(cmd, plain) ?? plain;
    this.#note(cmd, unpackMap(cutFields(opened ?? Buffer.from([0x80]), ['nonce', 'ts', 'tok'])));
    return Promise.resolve(reply);
  }

  #note(cmd: string, load: SaltMap): void {
    this.loads.push(load);
    const at = this.#waiting.findIndex((one) => one.cmd === cmd);
    if (at >= 0) this.#waiting.splice(at, 1)[0]?.resolve(load);
  }

  #signIn(load: SaltMap): Buffer {
    const request = parseAuth(load);
    const { nonce } = request;
    if (this.verdict !== undefined) {
      const answer = buildAuthVerdict(this.verdict, nonce);
      return signedReply(answer, this.key.sign(answer, SIG));
    }
    const minion = PublicKey.parse(request.pub);
    const token = request.token && this.key.oaepDecrypt(request.token, ENC);
    const digest = createHash('sha256').update(this.aes.keyString).digest('hex');
    const answer = buildAuthAccept({
      pubKey: this.key.publicKey.pem,
      publishPort: 4505,
      aes: minion.oaepEncrypt(Buffer.from(this.aes.keyString), ENC),
      session: minion.oaepEncrypt(Buffer.from(this.session.keyString), ENC),
      sig: this.key.x931Encrypt(Buffer.from(digest)),
      nonce,
      ...(token === undefined ? {} : { token: minion.oaepEncrypt(token, ENC) }),
    });
    return signedReply(answer, this.key.sign(answer, SIG));
  }

  #privateReply(nonce: string): Buffer {
    const minion = PublicKey.parse(this.minionPub);
    const inner = new Crypticle(newKeyString());
    const key = minion.oaepEncrypt(Buffer.from(inner.keyString), ENC);
    const data = buildPrivateData({ key, pillar: this.pillar, nonce });
    const signed = buildSignedPrivate(data, this.key.sign(data, SIG));
    return buildPrivateReply(key, inner.seal(signed));
  }

  minionPub = '';
}

class Frames implements Publications {
  readonly connected = Promise.resolve();
  readonly #queue: Uint8Array[] = [];
  readonly #news = new Wakeup();
  #closed = false;

  push(frame: Uint8Array): void {
    this.#queue.push(frame);
    this.#news.wake();
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#news.wake();
    return Promise.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    while (!this.#closed) {
      const frame = this.#queue.shift();
      if (frame !== undefined) yield frame;
      else await this.#news.wait();
    }
  }
}

/** A key file in memory. */
export class MemoryKeyFile implements MasterKeyFile {
  pem: string | undefined;

  readMasterPub(): Promise<string | undefined> {
    return Promise.resolve(this.pem);
  }

  writeMasterPub(pem: string): Promise<void> {
    this.pem = pem;
    return Promise.resolve();
  }
}

/** A clock that does not wait, but records the requested times. */
export class TestClock implements Clock {
  readonly sleeps: number[] = [];

  nowMs(): number {
    return 1_700_000_000_000;
  }

  random(): number {
    return 0.5;
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    this.sleeps.push(ms);
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
  }
}
