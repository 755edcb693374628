import { type EncAlgo, isEncAlgo, isSigAlgo, type PublicKey, type SigAlgo } from '@brine/crypt';
import { type AuditOutcome, mayBeOffered, mayHaveKey } from '@brine/job';
import { mapOf, pack, RefusalText, type SaltMap, WireError } from '@brine/wire';
import { clearReply, signedReply } from '@brine/wire/frames';
import { type AuthRequest, buildAuthAccept, buildAuthVerdict, parseAuth } from '@brine/wire/load';
import { recordLogin } from '../audit-records.ts';
import type { MasterPorts, Request } from '../ports/ports.ts';
import { type AuthVerdict, judgeAuth } from './auth-verdict.ts';

/** Limit of retries of a failed compare-and-set before the minion is asked to come back. */
const KEY_WRITE_TRIES_MAX = 5;

/**
 * Length limit of a public key: RSA-16384 takes 2,900 characters of PEM. Strangers can offer keys,
 * and each is stored until an operator decides on it.
 */
const PUBLIC_KEY_CHARS_MAX = 4096;

/** Size limit of grains in an event, in bytes: strangers send them too. */
const SENT_GRAINS_MAX_BYTES = 16_384;

/** The first payload version whose replies are signed and contain the nonce (CVE-2022-22935). */
const SIGNED_REPLY_VERSION = 2;

/** The payload of the reply, and whether it admits the minion. */
export interface LogInAnswer {
  readonly body: Buffer;
  readonly accepted: boolean;
}

interface SignIn extends AuthRequest {
  readonly version: number;
  readonly sigAlgo: SigAlgo;
}

/**
 * Answers `_auth`: decides on the minion's key and, if it is accepted, sends the master's AES key
 * and the minion's session key. Replies are signed. An unsigned reply would stop a stock minion
 * from ever logging in again, except the two algorithm texts and `bad load`.
 */
export async function answerAuth(
  ports: MasterPorts,
  request: Request,
  load: SaltMap,
  version: number,
): Promise<LogInAnswer> {
  let parsed: AuthRequest;
  try {
    parsed = parseAuth(load);
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    ports.count('auth_unreadable');
    return refused(pack(RefusalText.HANDLING));
  }
  const { sigAlgo } = parsed;
  if (!isSigAlgo(sigAlgo)) return refused(unsigned('bad sig algo'));
  // Salt trims the key before it compares and stores it.
  const signIn: SignIn = { ...parsed, pub: parsed.pub.trim(), sigAlgo, version };
  if (!mayHaveKey(signIn.id)) {
    recordLogin(ports, request, { ...signIn, outcome: 'no minion id' });
    return refused(await refusal(ports, signIn, false));
  }
  if (signIn.pub.length > PUBLIC_KEY_CHARS_MAX) {
    ports.count('auth_oversized_key');
    recordLogin(ports, request, { ...signIn, outcome: 'oversized key' });
    return refused(await refusal(ports, signIn, false));
  }
  const verdict = await decide(ports, signIn);
  if (verdict === 'not offered') {
    ports.count('auth_id_signs');
    recordLogin(ports, request, { ...signIn, outcome: 'id with signs of a shell' });
    return refused(await refusal(ports, signIn, false));
  }
  // "Not now": the only unsigned refusal that a minion survives.
  if (verdict === undefined) return refused(pack(RefusalText.BAD_LOAD));
  return reply(ports, request, signIn, verdict);
}

/**
 * Decides on the key and stores the result; undefined if other writers were first each time. `not
 * offered`: a stranger may not have this id.
 */
async function decide(
  ports: MasterPorts,
  signIn: SignIn,
): Promise<AuthVerdict | 'not offered' | undefined> {
  const { keys, rules } = ports;
  const full =
    rules.maxMinions > 0 &&
    ports.sessions.count() > rules.maxMinions &&
    !ports.sessions.has(signIn.id);
  const facts = { pub: signIn.pub, openMode: rules.openMode, full };

  // Never from the watched cache, which may lag. A wrong refusal makes a stock minion exit
  // (salt/minion.py, `rejected_retry` off). A minion whose key was just deleted would get the AES
  // key that was made to exclude it. An accepted key needs no signing files.
  let key = await keys.fetch(signIn.id);
  const isKnown = key?.state === 'accepted';
  if (!isKnown && !mayBeOffered(signIn.id, rules.minionIdSigns)) return 'not offered';
  const first = judgeAuth({ ...facts, key, autosign: 'none' });
  if (first.ret === undefined && first.write === undefined) return first;
  const autosign = rules.autoAccept
    ? 'accept'
    : await ports.autosign.decide(signIn.id, signIn.autosignGrains);
  for (let attempt = 0; attempt < KEY_WRITE_TRIES_MAX; attempt += 1) {
    if (attempt > 0) key = await keys.fetch(signIn.id);
    const verdict = judgeAuth({ ...facts, key, autosign });
    if (verdict.write === undefined) return verdict;
    const isNewPending = verdict.write.state === 'pending' && key === undefined;
    if (isNewPending && keys.pendingCount() >= rules.maxPendingKeys) {
      ports.count('auth_pending_full');
      return undefined;
    }
    if (await keys.store(signIn.id, verdict.write, key)) return verdict;
  }
  ports.count('auth_key_contended');
  return undefined;
}

async function reply(
  ports: MasterPorts,
  request: Request,
  signIn: SignIn,
  verdict: AuthVerdict,
): Promise<LogInAnswer> {
  ports.count(`auth_${verdict.act}`);
  const record = (outcome: AuditOutcome): void =>
    recordLogin(ports, request, { ...signIn, outcome });
  if (verdict.ret !== undefined) {
    record(verdict.act);
    await fireAuth(ports, request, signIn, verdict);
    return refused(await refusal(ports, signIn, verdict.ret));
  }
  let publicKey: PublicKey;
  try {
    publicKey = ports.keys.parsed(signIn.id, signIn.pub);
  } catch {
    // An unusable PEM that an operator accepted: Salt answers a signed False.
    ports.count('auth_unusable_key');
    record('unusable key');
    return refused(await refusal(ports, signIn, false));
  }
  if (!isEncAlgo(signIn.encAlgo)) {
    record('bad enc algo');
    return refused(unsigned('bad enc algo'));
  }
  record(verdict.write?.state === 'accepted' ? 'first accept' : 'accept');
  const [body] = await Promise.all([
    acceptance(ports, signIn, publicKey, signIn.encAlgo),
    fireAuth(ports, request, signIn, verdict),
  ]);
  return { body, accepted: true };
}

/** The reply of an accepted minion (salt/channel/server.py `_auth`, last part). */
async function acceptance(
  ports: MasterPorts,
  signIn: SignIn,
  publicKey: PublicKey,
  encAlgo: EncAlgo,
): Promise<Buffer> {
  const { masterKey } = ports;
  const aes = await ports.aes.forLogin();
  const session = await ports.sessions.current(signIn.id);
  const [token, sig, pubSig] = await Promise.all([
    echoToken(ports, signIn, publicKey, encAlgo),
    masterKey.aesKeySignature(aes.keyString),
    masterKey.publicKeySignature?.(signIn.sigAlgo),
  ]);
  const load = buildAuthAccept({
    pubKey: masterKey.publicPem,
    publishPort: ports.rules.publishPort,
    aes: publicKey.oaepEncrypt(Buffer.from(aes.keyString, 'ascii'), encAlgo),
    session: publicKey.oaepEncrypt(Buffer.from(session.keyString, 'ascii'), encAlgo),
    sig,
    nonce: signIn.nonce,
    ...(token === undefined ? {} : { token }),
    ...(pubSig === undefined ? {} : { pubSig }),
  });
  return signIn.version >= SIGNED_REPLY_VERSION ? sign(ports, load, signIn.sigAlgo) : load;
}

/** Omits a token that this master can not open; the minion then rightly refuses the master. */
async function echoToken(
  ports: MasterPorts,
  signIn: SignIn,
  publicKey: PublicKey,
  encAlgo: EncAlgo,
): Promise<Buffer | undefined> {
  if (signIn.token === undefined) return undefined;
  try {
    return publicKey.oaepEncrypt(await ports.masterKey.decrypt(signIn.token, encAlgo), encAlgo);
  } catch {
    ports.count('auth_foreign_token');
    return undefined;
  }
}

function refusal(
  ports: MasterPorts,
  signIn: SignIn,
  ret: boolean | 'full',
): Promise<Buffer> | Buffer {
  if (signIn.version < SIGNED_REPLY_VERSION) return unsigned(ret);
  return sign(ports, buildAuthVerdict(ret, signIn.nonce), signIn.sigAlgo);
}

async function sign(ports: MasterPorts, load: Buffer, sigAlgo: SigAlgo): Promise<Buffer> {
  return signedReply(load, await ports.masterKey.sign(load, sigAlgo));
}

function refused(body: Buffer): LogInAnswer {
  return { body, accepted: false };
}

function unsigned(ret: boolean | string): Buffer {
  return clearReply(mapOf({ ret }));
}

async function fireAuth(
  ports: MasterPorts,
  request: Request,
  signIn: SignIn,
  verdict: AuthVerdict,
): Promise<void> {
  if (!ports.rules.authEvents) return;
  if (verdict.act !== 'accept' && ports.mayReportStranger?.() === false) {
    ports.count('auth_event_left_out');
    return;
  }
  const { result, act } = verdict;
  const { id, pub } = signIn;
  const grains = sentGrains(ports, signIn, act);
  await ports.events.append({
    kind: 'auth',
    tag: 'salt/auth',
    body: pack(mapOf({ result, act, id, pub, autosign_grains: grains })),
    msgId: `auth:${request.id}`,
    minion: signIn.id,
  });
}

/** The grains that the minion sent for autosign, if the master's option puts them in events. */
function sentGrains(
  ports: MasterPorts,
  { autosignGrains: grains }: SignIn,
  act: AuthVerdict['act'],
): SaltMap | undefined {
  if (grains === undefined || grains.size === 0) return undefined;
  if (ports.rules.authEventsAutosignGrains?.includes(act) !== true) return undefined;
  if (pack(grains).length <= SENT_GRAINS_MAX_BYTES) return grains;
  ports.count('auth_event_grains_left_out');
  return undefined;
}
