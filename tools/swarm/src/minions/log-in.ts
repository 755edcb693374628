import { randomBytes } from 'node:crypto';
import { CryptError, Crypticle } from '@brine/crypt';
import { pack, RefusalText, scanMap, WireError } from '@brine/wire';
import { clearEnvelope, DEFAULT_ENC_ALGO, DEFAULT_SIG_ALGO } from '@brine/wire/frames';
import { buildAuth, parseAuthAnswer } from '@brine/wire/load';
import type { SwarmCounts } from '../types.ts';
import type { KeyPair } from './key-pool.ts';
import type { LogInToken, MasterKnowledge } from './master-knowledge.ts';

/** Who logs in. */
export interface LogInIdentity {
  readonly id: string;
  readonly pair: KeyPair;
}

/** One `_auth` in flight. */
export interface LogInAttempt {
  readonly body: Buffer;
  readonly nonce: string;
  readonly token: LogInToken | undefined;
}

/**
 * The end of a log-in; `session` if requested (version 3). `pending`: the minion has to retry,
 * because its key is pending or the master can not answer now.
 */
export type LogInOutcome =
  | { readonly kind: 'accepted'; readonly session?: Crypticle }
  | { readonly kind: 'pending' | 'refused' };

const PENDING: LogInOutcome = { kind: 'pending' };
const REFUSED: LogInOutcome = { kind: 'refused' };
const BAD_LOAD = pack(RefusalText.BAD_LOAD);
const ACCEPTED: LogInOutcome = { kind: 'accepted' };

/** Builds `_auth` requests and reads their answers, of which it opens only some. */
export class LogIns {
  readonly #version: 2 | 3;
  readonly #openEvery: number;
  readonly #knowledge: MasterKnowledge;
  readonly #counts: SwarmCounts;
  #answers = 0;

  constructor(
    parts: { readonly version: 2 | 3; readonly openEvery: number },
    knowledge: MasterKnowledge,
    counts: SwarmCounts,
  ) {
    this.#version = parts.version;
    this.#openEvery = parts.openEvery;
    this.#knowledge = knowledge;
    this.#counts = counts;
  }

  begin(me: LogInIdentity): LogInAttempt {
    const nonce = randomBytes(16).toString('hex');
    const token = this.#knowledge.token();
    const load = buildAuth({
      id: me.id,
      nonce,
      pub: me.pair.pub,
      encAlgo: DEFAULT_ENC_ALGO,
      sigAlgo: DEFAULT_SIG_ALGO,
      ...(token === undefined ? {} : { token: token.sealed }),
    });
    if (this.#version === 2) {
      // 3006.8 and older name no algorithms.
      load.delete('enc_algo');
      load.delete('sig_algo');
    }
    return { body: clearEnvelope(load, this.#version), nonce, token };
  }

  /** Reads an answer. With `wantSession` the session key is opened (an RSA operation). */
  finish(
    me: LogInIdentity,
    attempt: LogInAttempt,
    reply: Uint8Array,
    wantSession: boolean,
  ): LogInOutcome {
    try {
      const outcome = this.#read(me, attempt, reply, wantSession && this.#version === 3);
      if (outcome.kind === 'accepted') this.#counts.logIns += 1;
      else this.#counts.logInsFailed += 1;
      return outcome;
    } catch (error) {
      if (!(error instanceof WireError || error instanceof CryptError || error instanceof Unfit)) {
        throw error;
      }
      this.#counts.badReplies += 1;
      this.#counts.logInsFailed += 1;
      return REFUSED;
    }
  }

  #read(
    me: LogInIdentity,
    attempt: LogInAttempt,
    reply: Uint8Array,
    wantSession: boolean,
  ): LogInOutcome {
    // A stock minion tolerates this text, and retries.
    if (BAD_LOAD.equals(reply)) return PENDING;
    const outer = scanMap(reply);
    const load = outer.bytes('load');
    const sig = outer.bytes('sig');
    // An unsigned refusal.
    if (load === undefined || sig === undefined) return REFUSED;
    const inner = scanMap(load);
    if (inner.text('nonce') !== attempt.nonce) throw new Unfit('the answer has another nonce');
    if (inner.has('ret')) return inner.value('ret') === true ? PENDING : REFUSED;
    this.#answers += 1;
    const mark = inner.bytes('sig');
    const known = mark !== undefined && this.#knowledge.knowsAes(mark);
    const check = !known || this.#answers % this.#openEvery === 0;
    if (!check && !wantSession) return ACCEPTED;
    const answer = parseAuthAnswer(load);
    if (answer.kind !== 'accept') throw new Unfit('the answer is no acceptance');
    const { accept } = answer;
    const key = me.pair.privateKey();
    if (check) {
      this.#counts.repliesOpened += 1;
      this.#knowledge.openAes(accept, key);
      if (!this.#knowledge.verify(load, sig)) throw new Unfit('not signed by the master');
      if (attempt.token !== undefined) {
        const opened = accept.token && key.oaepDecrypt(accept.token, DEFAULT_ENC_ALGO);
        if (opened?.toString('utf8') !== attempt.token.text)
          throw new Unfit('the token is another');
      }
    }
    if (!wantSession) return ACCEPTED;
    const text = key.oaepDecrypt(accept.session, DEFAULT_ENC_ALGO).toString('utf8');
    return { kind: 'accepted', session: new Crypticle(text) };
  }
}

/** An answer that a minion would refuse. */
class Unfit extends Error {
  override readonly name = 'Unfit';
}
