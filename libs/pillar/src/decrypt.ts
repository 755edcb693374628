import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import type { MinionMessages } from './minion-messages.ts';
import type { PillarOptions, PillarPorts } from './ports.ts';

/**
 * Decrypts the keys that `decrypt_pillar` names, in place (Salt: salt/pillar/__init__.py
 * decrypt_pillar), but for messages that the minion sent. Returns what went wrong.
 */
export function decryptKeys(
  pillar: SaltMap,
  options: PillarOptions,
  ports: PillarPorts,
  sent: MinionMessages,
): string[] {
  const errors: string[] = [];
  const { keys, delimiter, renderers } = options.decrypt;
  for (const [key, renderer] of keys) {
    const parts = key.split(delimiter);
    const last = parts.pop() ?? '';
    const parent = parts.reduce<SaltValue | undefined>(child, pillar);
    const value = child(parent, last);
    if (value === undefined || value === null) continue;
    try {
      if (renderer !== 'gpg' || !renderers.includes('gpg')) {
        throw new Error(`'${renderer}' is not a valid decryption renderer`);
      }
      const open = ports.decrypt(value, sent.mayOpen);
      if (isMap(parent)) parent.set(last, open);
      else if (Array.isArray(parent)) parent[Number(last)] = open;
    } catch (error) {
      errors.push(`Failed to decrypt pillar key '${key}': ${(error as Error).message}`);
    }
  }
  return errors;
}

function child(at: SaltValue | undefined, name: string): SaltValue | undefined {
  if (isMap(at)) return at.get(name);
  return Array.isArray(at) && /^\d+$/.test(name) ? at[Number(name)] : undefined;
}
