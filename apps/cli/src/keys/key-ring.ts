import { hostname } from 'node:os';
import { join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { asOwnerOf, isSystemError, textIfThere } from '@brine/files';
import { keyDirs, type KeyListing, type KeyShelf, KeyStore, PkiError } from '@brine/pki';
import { compileGlob } from '@brine/target';

/** The names that Salt's commands give to the states of keys. */
export type KeySection = 'minions' | 'minions_pre' | 'minions_rejected' | 'minions_denied';

/** Order of showing and changing keys (Salt: salt/key.py list_keys). */
export const SECTIONS: readonly KeySection[] = [
  'minions_pre',
  'minions_rejected',
  'minions',
  'minions_denied',
];

/** The directory of each section. */
export const SHELF_OF: Readonly<Record<KeySection, Exclude<KeyShelf, 'autosign'>>> = {
  minions_pre: 'pending',
  minions_rejected: 'rejected',
  minions: 'accepted',
  minions_denied: 'denied',
};

/** Ids by section; sections without a match may be missing. */
export type KeyChoice = ReadonlyMap<KeySection, readonly string[]>;

const NOTHING: KeyListing = { accepted: [], pending: [], rejected: [], denied: [], autosign: [] };

/**
 * The key files of salt-key. Files written by root belong to the account of the master (Salt:
 * salt/cli/key.py). Links of that account are not followed.
 */
export class KeyRing {
  readonly #store: KeyStore;
  readonly #pkiDir: string;

  constructor(config: Pick<MasterOptions, 'pkiDir'>) {
    this.#store = new KeyStore(config.pkiDir);
    this.#pkiDir = config.pkiDir;
  }

  /** All ids by section, sorted without regard to case; a missing key directory is empty. */
  async all(): Promise<Map<KeySection, string[]>> {
    const listing = await this.#there(() => this.#list());
    return new Map(
      SECTIONS.map((section) => [section, sortedIgnoringCase(listing[SHELF_OF[section]])]),
    );
  }

  /** The sections with matches of a glob, or of one of several globs with commas. */
  async match(pattern: string): Promise<Map<KeySection, string[]>> {
    const globs = pattern.split(',').map(compileGlob);
    const found = new Map<KeySection, string[]>();
    for (const [section, ids] of await this.all()) {
      const matching = ids.filter((id) => globs.some((glob) => glob(id)));
      if (matching.length > 0) found.set(section, matching);
    }
    return found;
  }

  /** The unchanged text of a key file: 3008's fingerprints depend on the last line end. */
  text(section: KeySection, id: string): Promise<string | undefined> {
    return this.#there(() => this.#store.readText(SHELF_OF[section], id));
  }

  /** Puts a key in a state; a denied key is no longer denied. */
  put(section: KeySection, id: string, state: 'accepted' | 'rejected', pub: string): Promise<void> {
    return this.#there(async () => {
      await this.#store.put(id, state, pub);
      if (section === 'minions_denied') await this.#store.remove('denied', id);
    });
  }

  /** Removes a key. */
  async remove(section: KeySection, id: string): Promise<void> {
    await this.#there(() => this.#store.remove(SHELF_OF[section], id));
  }

  /** The master's own pair by the names that 3008 shows: `<host>.pem`, `<host>.pub`. */
  async local(): Promise<Map<string, string>> {
    const keys = new Map<string, string>();
    for (const kind of ['pem', 'pub']) {
      const path = join(this.#pkiDir, `master.${kind}`);
      const text = await this.#there(() => textIfThere(path));
      if (text !== undefined) keys.set(`${hostname()}.${kind}`, text);
    }
    return keys;
  }

  #there<T>(work: () => Promise<T>): Promise<T> {
    return asOwnerOf(keyDirs(this.#pkiDir), work);
  }

  async #list(): Promise<KeyListing> {
    try {
      return await this.#store.list();
    } catch (error) {
      if (error instanceof PkiError && error.code === 'SALT_PKI_STORE_AWAY') {
        return this.#listPartly();
      }
      throw error;
    }
  }

  /** Lists the directories, of which some may be missing. */
  async #listPartly(): Promise<KeyListing> {
    const names = (shelf: KeyShelf): Promise<readonly string[]> =>
      this.#store.names(shelf).catch((error: unknown) => {
        // A missing directory has no keys. An unreadable one may have some.
        const isAbsent = error instanceof PkiError && isSystemError(error.cause, 'ENOENT');
        if (isAbsent) return [];
        throw error;
      });
    return {
      ...NOTHING,
      accepted: await names('accepted'),
      pending: await names('pending'),
      rejected: await names('rejected'),
      denied: await names('denied'),
    };
  }
}

/** Salt: salt/utils/data.py sorted_ignorecase. */
function sortedIgnoringCase(names: readonly string[]): string[] {
  const key = (name: string): string => name.toLowerCase();
  return [...names].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}
