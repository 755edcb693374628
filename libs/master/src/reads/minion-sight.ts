import { mayRead, type Reader } from '@brine/acl';
import type { MasterPorts } from '../ports/ports.ts';

/** A caller that may see that a thing is there, and may not read it. */
export class ReadNotAllowedError extends Error {
  override readonly name = 'ReadNotAllowedError';
}

/** True if an accepted minion is there for a caller. */
export function isMinionSeen({ keys }: MasterPorts, reader: Reader, minion: string): boolean {
  if (!keys.accepted().has(minion)) return false;
  return mayRead(reader, { kind: 'keys' }) || mayRead(reader, { kind: 'minion', minion });
}
