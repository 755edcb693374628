import { createHash, randomBytes } from 'node:crypto';
import {
  Crypticle,
  type EncAlgo,
  fingerprint,
  newKeyString,
  normalisePem,
  type PrivateKey,
  PublicKey,
  type SigAlgo,
} from '@brine/crypt';
import { bytesOf, mapIn, type SaltMap, unpackMap } from '@brine/wire';
import { clearEnvelope } from '@brine/wire/frames';
import { type AuthAccept, buildAuth, parseAuthAnswer } from '@brine/wire/load';
import { MinionError } from '../errors.ts';

/** The minion that signs in, and its algorithms. */
export interface SignInIdentity {
  readonly id: string;
  readonly key: PrivateKey;
  readonly encAlgo: EncAlgo;
  readonly sigAlgo: SigAlgo;
  /** Required fingerprint of the master's key; empty for any. */
  readonly masterFinger: string;
  /** Hash of that fingerprint, as `sha256`. */
  readonly hashType: string;
}

/** The credentials of a signed-in minion. */
export interface Credentials {
  readonly masterKey: PublicKey;
  readonly masterPub: string;
  /** Opens publications. */
  readonly aes: Crypticle;
  /** Seals requests and opens their answers. */
  readonly session: Crypticle;
  readonly publishPort: number;
}

/** The outcome of a sign-in: credentials, or wait, or try later. */
export type SignInOutcome =
  | { readonly kind: 'accepted'; readonly credentials: Credentials; readonly newMaster: boolean }
  | { readonly kind: 'pending' | 'full' };

/** An `_auth` request that waits for its answer. */
export interface SignInAttempt {
  readonly body: Buffer;
  readonly nonce: string;
  readonly token: string | undefined;
}

/** Builds an `_auth`. With a known master it carries a token that only that master can read. */
export function beginSignIn(me: SignInIdentity, masterPub: string | undefined): SignInAttempt {
  const nonce = randomBytes(16).toString('hex');
  const token = masterPub === undefined ? undefined : newKeyString();
  const sealed =
    masterPub === undefined || token === undefined
      ? {}
      : { token: PublicKey.parse(masterPub).oaepEncrypt(Buffer.from(token), me.encAlgo) };
  const load = buildAuth({
    id: me.id,
    nonce,
    pub: normalisePem(me.key.publicKey.pem),
    encAlgo: me.encAlgo,
    sigAlgo: me.sigAlgo,
    ...sealed,
  });
  return { body: clearEnvelope(load), nonce, token };
}

/**
 * Checks the answer to an `_auth` (Salt: salt/crypt.py AsyncAuth.sign_in, handle_signin_response).
 * An unknown master's key is trusted on first use, after the master proved that it owns it.
 *
 * Throws MinionError: with `exitCode` if trying again is of no use; WireError, CryptError.
 */
export function finishSignIn(
  me: SignInIdentity,
  attempt: SignInAttempt,
  known: string | undefined,
  reply: Uint8Array,
): SignInOutcome {
  const outer = unpackMap(reply);
  const unsigned = mapIn(outer, 'load');
  if (unsigned !== undefined) return refuseUnsigned(unsigned);
  const load = bytesOf(outer, 'load');
  const sig = bytesOf(outer, 'sig');
  if (load === undefined || sig === undefined) throw failed('the answer is not signed');
  const answer = parseAuthAnswer(load);
  if (answer.kind === 'verdict') {
    if (known !== undefined) checkSignature(PublicKey.parse(known), load, sig, me.sigAlgo);
    if (answer.nonce !== attempt.nonce) throw failed('the answer has another nonce');
    return verdict(answer.ret);
  }
  const { accept } = answer;
  const masterPub = normalisePem(accept.pubKey);
  if (known !== undefined && known !== masterPub) {
    throw failed('the master has another key than before: it may be another master');
  }
  const masterKey = PublicKey.parse(masterPub);
  checkSignature(masterKey, load, sig, me.sigAlgo);
  if (accept.nonce !== attempt.nonce) throw failed('the answer has another nonce');
  checkFinger(me, masterPub);
  checkToken(me, attempt, accept);
  const credentials = openCredentials(me, accept, masterKey, masterPub);
  return { kind: 'accepted', credentials, newMaster: known === undefined };
}

function openCredentials(
  me: SignInIdentity,
  accept: AuthAccept,
  masterKey: PublicKey,
  masterPub: string,
): Credentials {
  const open = (sealed: Uint8Array): string =>
    me.key.oaepDecrypt(sealed, me.encAlgo).toString('utf8');
  const aes = open(accept.aes);
  const digest = createHash('sha256').update(aes).digest('hex');
  if (masterKey.x931Recover(accept.sig)?.toString('latin1') !== digest) {
    throw failed('the key for publications is not vouched for');
  }
  const session = new Crypticle(open(accept.session));
  const { publishPort } = accept;
  return { masterKey, masterPub, aes: new Crypticle(aes), session, publishPort };
}

function checkSignature(key: PublicKey, load: Uint8Array, sig: Uint8Array, algo: SigAlgo): void {
  if (!key.verify(load, sig, algo)) throw failed('the answer is not signed by the master');
}

function checkToken(me: SignInIdentity, attempt: SignInAttempt, accept: AuthAccept): void {
  if (attempt.token === undefined) return;
  const token = accept.token && me.key.oaepDecrypt(accept.token, me.encAlgo).toString('utf8');
  if (token !== attempt.token) throw failed('the master could not read the token');
}

function checkFinger(me: SignInIdentity, masterPub: string): void {
  if (me.masterFinger === '') return;
  // 3006 ignores white space around the text; 3008 hashes the file as it is, with or without a last
  // line feed. `salt-key -F master` shows the fingerprint of the master's release.
  const fingers = [
    fingerprint(masterPub, '3006', me.hashType),
    fingerprint(masterPub, '3008', me.hashType),
    fingerprint(`${masterPub}\n`, '3008', me.hashType),
  ];
  if (!fingers.includes(me.masterFinger.trim().toLowerCase())) {
    throw new MinionError('SALT_MINION_FINGER', 'the master has another fingerprint');
  }
}

function verdict(ret: unknown): SignInOutcome {
  if (ret === true) return { kind: 'pending' };
  if (ret === 'full') return { kind: 'full' };
  if (ret === false) {
    throw new MinionError('SALT_MINION_REJECTED', 'the master has rejected the key of this minion');
  }
  throw failed('the answer to the log-in is in no known form');
}

/** Only the two texts about algorithms may come unsigned; others lead to another try later. */
function refuseUnsigned(load: SaltMap): never {
  const ret = load.get('ret');
  if (ret === 'bad enc algo' || ret === 'bad sig algo') {
    throw new MinionError('SALT_MINION_ALGORITHM', `the master answers: ${ret}`);
  }
  throw failed('the answer is not signed');
}

function failed(why: string): MinionError {
  return new MinionError('SALT_MINION_SIGN_IN', why);
}
