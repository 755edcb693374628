import { cryptoInUse } from '@brine/crypt';
import type { Finding } from '../findings/finding.ts';

/** Whether the native part of the seal is in use here; without it all works, slower. */
export function checkCrypto(): Finding[] {
  const used = cryptoInUse();
  const text = used.crypto === 'native' ? 'native' : `node, which is slower: ${used.why}`;
  return [{ level: 'ok', check: 'crypto', text }];
}
