import { randomBytes, randomInt } from 'node:crypto';
import { mapOf } from '@brine/wire';
import type { Behaviour } from '../types.ts';
import type { KeyPair } from './key-pool.ts';
import type { SealingMinion } from './sealed-exchange.ts';
import type { SealedRequests } from './sealed-request.ts';

const MAX_GARBAGE_BYTES = 2_048;
const MAC_BYTES = 32;

/** A body that a master has to refuse; undefined before the minion has a key. */
export function hostileBody(
  kind: NonNullable<Behaviour['hostile']>,
  minion: SealingMinion & { readonly pair: KeyPair },
  requests: SealedRequests,
): Uint8Array[] | undefined {
  if (kind === 'garbage') return [randomBytes(1 + randomInt(MAX_GARBAGE_BYTES))];
  const { key } = minion;
  if (key === undefined) return undefined;
  const head = requests.head(mapOf({ cmd: '_return', jid: '20260101000000000000', return: true }));
  if (kind === 'wrong-id') {
    // Sealed by this minion with another id inside; the envelope has the true one.
    const other = requests.fields(`${minion.id}-other`, minion.pair.tok);
    return requests.seal(head, { ...minion.fields, inLoad: other.inLoad }, key);
  }
  const [front, sealed, back] = requests.seal(head, minion.fields, key);
  if (front === undefined || sealed === undefined || back === undefined) return undefined;
  const broken = Buffer.from(sealed);
  const at = broken.length - 1 - randomInt(MAC_BYTES);
  broken[at] = (broken[at] ?? 0) ^ 0x01;
  return [front, broken, back];
}
