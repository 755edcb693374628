import { CryptError, type PublicKey, type SigAlgo } from '@brine/crypt';
import { cutFields, type MapScan } from '@brine/wire';
import { toBinMap } from '@brine/wire/frames';
import type { MasterPorts, MasterRules } from '../ports/ports.ts';
import { keepRefusal } from './return-refusal.ts';

/**
 * Fields without a signature, in the two forms that stock minions with `minion_sign_messages` use.
 * (Salt: salt/channel/client.py of 3006.26 and 3008.2; salt/minion.py of 3006.5 and 3007.13, before
 * the channel and the minion's own event bus add their fields.)
 */
const UNSIGNED_FIELDS: readonly (readonly string[])[] = [
  ['sig', 'nonce', 'tok'],
  ['sig', 'nonce', 'tok', 'ts', '_stamp', 'traceparent', 'tracestate'],
];

/** Values of the minion's `signing_algorithm`, which its requests need not name. */
const ALGORITHMS: readonly SigAlgo[] = ['PKCS1v15-SHA1', 'PKCS1v15-SHA224'];

/** True if an option requires signatures: a check costs an RSA operation and a copy of the load. */
export function checksSignatures(rules: MasterRules): boolean {
  return rules.requireMinionSignMessages === true || rules.dropMessagesSignatureFail === true;
}

/**
 * True if a return may be accepted, by `require_minion_sign_messages` and
 * `drop_messages_signature_fail` (salt/master.py `_return`). A refused return is counted, and
 * stored as evidence of why the minion is silent.
 */
export async function isSignatureGood(
  ports: MasterPorts,
  scan: MapScan,
  minion: string,
): Promise<boolean> {
  const { requireMinionSignMessages, dropMessagesSignatureFail } = ports.rules;
  const about = { jid: scan.text('jid'), minion };
  if (!scan.has('sig')) {
    if (!requireMinionSignMessages) return true;
    ports.count('return_unsigned');
    await keepRefusal(ports, about, 'it was not signed');
    return false;
  }
  if (await isSignedBy(ports, scan, minion)) return true;
  ports.count('return_bad_signature');
  if (!dropMessagesSignatureFail) return true;
  await keepRefusal(ports, about, 'its signature is wrong');
  return false;
}

/** A key that was accepted a moment ago may not have reached the cache. */
async function isSignedBy(ports: MasterPorts, scan: MapScan, minion: string): Promise<boolean> {
  const sig = scan.bytes('sig');
  if (sig === undefined) return false;
  const cached = ports.keys.cached(minion);
  const tried = cached?.state === 'accepted' ? cached.pub : undefined;
  if (tried !== undefined && verifies(keyOf(ports, minion, tried), scan, sig)) return true;
  const stored = await ports.keys.fetch(minion);
  if (stored?.state !== 'accepted' || stored.pub === tried) return false;
  return verifies(keyOf(ports, minion, stored.pub), scan, sig);
}

function keyOf(ports: MasterPorts, minion: string, pem: string): PublicKey | undefined {
  try {
    return ports.keys.parsed(minion, pem);
  } catch (cause) {
    // Without a usable accepted key no signature can be valid.
    if (cause instanceof CryptError) return undefined;
    throw cause;
  }
}

/** Minions sign the new form of msgpack and send the old one. */
function verifies(key: PublicKey | undefined, scan: MapScan, sig: Buffer): boolean {
  if (key === undefined) return false;
  return UNSIGNED_FIELDS.some((fields) => {
    const signed = toBinMap(cutFields(scan, fields));
    return ALGORITHMS.some((algorithm) => key.verify(signed, sig, algorithm));
  });
}
