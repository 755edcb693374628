import { boolOf, mapOf, pack, type SaltMap, type SaltValue } from '@brine/wire';
import type { MasterPorts } from '../ports/ports.ts';

/** Limit of retries of a failed compare-and-set. */
const KEY_WRITE_TRIES_MAX = 5;

/**
 * Deletes the key of the asking minion (salt/master.py AESFuncs.revoke_auth), whatever id the load
 * has. If the master does not allow that, Salt answers the load itself.
 *
 * @returns true when the key is deleted
 */
export async function revokeAuth(
  ports: MasterPorts,
  minion: string | undefined,
  load: SaltMap,
): Promise<SaltValue> {
  const { rules, keys } = ports;
  if (!rules.allowMinionKeyRevoke) {
    ports.count('revoke_refused');
    const who = minion === undefined ? {} : { principal: minion };
    ports.audit?.recordRefusal({ kind: 'key', outcome: 'revoke refused', ...who });
    const shown = new Map(load);
    for (const field of ['tok', 'nonce']) shown.delete(field);
    return shown;
  }
  if (minion === undefined || !(await deleteKey(ports, minion))) return false;
  const keepData = rules.preserveMinionCache || boolOf(load, 'preserve_minion_cache') === true;
  await keys.forget(minion, { data: !keepData });
  ports.count('key_revoked');
  ports.audit?.record({ kind: 'key', outcome: 'revoked', principal: minion, target: minion });
  await ports.events.append({
    kind: 'key',
    tag: 'salt/key',
    body: pack(mapOf({ result: true, act: 'delete', id: minion })),
    minion,
    msgId: `revoked:${minion}:${ports.now()}`,
  });
  // The minion still has the AES key: it must not read later publications.
  if (rules.rotateAesKey) ports.aes.rotate();
  return true;
}

async function deleteKey(ports: MasterPorts, minion: string): Promise<boolean> {
  for (let attempt = 0; attempt < KEY_WRITE_TRIES_MAX; attempt += 1) {
    const key = await ports.keys.fetch(minion);
    if (key === undefined || key.state === 'deleted') return true;
    if (await ports.keys.store(minion, { state: 'deleted', pub: '', denied: [] }, key)) return true;
  }
  ports.count('auth_key_contended');
  return false;
}
