import { join } from 'node:path';
import { normalisePem } from '@brine/crypt';
import { removeIfThere, textIfThere, writeAtomic } from '@brine/files';
import type { KeyPair } from './master-keys.ts';
import { loadOrCreatePair } from './master-keys.ts';

/**
 * A minion's own key files (Salt: salt/crypt.py AsyncAuth): `minion.pem`, `minion.pub`, and the
 * master's public key as it was first seen, `minion_master.pub`.
 */
export class MinionKeyFiles {
  readonly pkiDir: string;
  readonly #masterPubName: string;

  /** `masterPubName`: a syndic keeps the key of a master above under a name of its own. */
  constructor(pkiDir: string, masterPubName = 'minion_master') {
    this.pkiDir = pkiDir;
    this.#masterPubName = masterPubName;
  }

  /** The minion's pair, made when there is none. Throws PkiError as loadOrCreateMasterKeys does. */
  loadOrCreate(keysize = 2048): Promise<KeyPair> {
    return loadOrCreatePair(this.pkiDir, 'minion', keysize);
  }

  /** The master's public key that this minion trusts, trimmed, or undefined before the first. */
  async readMasterPub(): Promise<string | undefined> {
    const text = await textIfThere(this.#masterPub());
    return text === undefined ? undefined : normalisePem(text);
  }

  /** Trusts a master's public key from now on. */
  async writeMasterPub(pem: string): Promise<void> {
    await writeAtomic(this.#masterPub(), `${normalisePem(pem)}\n`, { mode: 0o644 });
  }

  /** Forgets the master's key; false when none was stored. */
  async removeMasterPub(): Promise<boolean> {
    return removeIfThere(this.#masterPub());
  }

  /** The key that vouches for master keys (`master_sign.pub`), if the operator has placed one. */
  async readMasterSignPub(name = 'master_sign'): Promise<string | undefined> {
    const text = await textIfThere(join(this.pkiDir, `${name}.pub`));
    return text === undefined ? undefined : normalisePem(text);
  }

  #masterPub(): string {
    return join(this.pkiDir, `${this.#masterPubName}.pub`);
  }
}
