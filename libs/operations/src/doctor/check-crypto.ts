import { cryptoInUse } from '@brine/crypt';
import type { Finding } from '../findings/finding.ts';

/** Checks that native encryption is in use here; without it everything works, but slower. */
export function checkCrypto(): Finding[] {
  const used = cryptoInUse();
  const text = used.crypto === 'native' ? 'native' : `node, which is slower: ${used.why}`;
  return [{ level: 'ok', check: 'crypto', text }];
}
