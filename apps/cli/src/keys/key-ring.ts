import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { MasterOptions } from '@brine/config';
import { type KeyListing, type KeyShelf, KeyStore, PkiError } from '@brine/pki';
import { compileGlob } from '@brine/target';

/** The names that Salt's commands give to the states of keys. */
export type KeySection = 'minions' | 'minions_pre' | 'minions_rejected' | 'minions_denied';

/** In this order keys are shown and acted on (Salt: salt/key.py list_keys). */
export const SECTIONS: readonly KeySection[] = [
  'minions_pre',
  'minions_rejected',
  'minions',
  'minions_denied',
];

/** Where each section lies. */
export const SHELF_OF: Readonly<Record<KeySection, Exclude<KeyShelf, 'autosign'>>> = {
  minions_pre: 'pending',
  minions_rejected: 'rejected',
  minions: 'accepted',
  minions_denied: 'denied',
};

/** Ids by section; sections without a match may be missing. */
export type KeyChoice = ReadonlyMap<KeySection, readonly string[]>;

const NOTHING: KeyListing = { accepted: [], pending: [], rejected: [], denied: [], autosign: [] };

/** The key files as salt-key sees them. */
export class KeyRing {
  readonly store: KeyStore;
  readonly #pkiDir: string;

  constructor(config: Pick<MasterOptions, 'pkiDir'>) {
    this.store = new KeyStore(config.pkiDir);
    this.#pkiDir = config.pkiDir;
  }

  /**
   * All ids by section, sorted without regard to case; a key directory that is not there is empty.
   */
  async all(): Promise<Map<KeySection, string[]>> {
    const listing = await this.#list();
    return new Map(
      SECTIONS.map((section) => [section, sortedIgnoringCase(listing[SHELF_OF[section]])]),
    );
  }

  /** The sections in which something matches a glob, or one of several by comma. */
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
    return readTextIfThere(join(this.#pkiDir, section, id));
  }

  /** The master's own pair by the names that 3008 shows: `<host>.pem`, `<host>.pub`. */
  async local(): Promise<Map<string, string>> {
    const keys = new Map<string, string>();
    for (const kind of ['pem', 'pub']) {
      const text = await readTextIfThere(join(this.#pkiDir, `master.${kind}`));
      if (text !== undefined) keys.set(`${hostname()}.${kind}`, text);
    }
    return keys;
  }

  async #list(): Promise<KeyListing> {
    try {
      return await this.store.list();
    } catch (error) {
      if (error instanceof PkiError && error.code === 'SALT_PKI_STORE_AWAY') {
        return this.#listPartly();
      }
      throw error;
    }
  }

  /** One directory may be missing while the others are there. */
  async #listPartly(): Promise<KeyListing> {
    // Not there: no keys.
    const names = (shelf: KeyShelf): Promise<readonly string[]> =>
      this.store.names(shelf).catch(() => []);
    return {
      ...NOTHING,
      accepted: await names('accepted'),
      pending: await names('pending'),
      rejected: await names('rejected'),
      denied: await names('denied'),
    };
  }
}

/** The text of a file; undefined where there is none. */
export async function readTextIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Salt: salt/utils/data.py sorted_ignorecase. */
function sortedIgnoringCase(names: readonly string[]): string[] {
  const key = (name: string): string => name.toLowerCase();
  return [...names].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}
