import { readUserKeys } from '@brine/cachedir';
import type { Trouble } from '@brine/tasks';

/** A new key file is known within this time. */
const LOOK_EVERY_MS = 60_000;

/** The keys of the users of this host, from their files, for the door at the pull socket. */
export class LocalKeys {
  readonly #cachedir: string;
  readonly #own: readonly string[];
  readonly #onTrouble: Trouble;
  readonly #timer: NodeJS.Timeout;
  #keys: ReadonlyMap<string, string> = new Map();

  private constructor(cachedir: string, own: readonly string[], onTrouble: Trouble) {
    this.#cachedir = cachedir;
    this.#own = own;
    this.#onTrouble = onTrouble;
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY_MS).unref();
  }

  /** @param user the user of the master; root has the same rights */
  static async open(cachedir: string, user: string, onTrouble: Trouble): Promise<LocalKeys> {
    const keys = new LocalKeys(cachedir, [user, 'root'], onTrouble);
    await keys.#look();
    return keys;
  }

  /** All keys of the last read. */
  all(): Iterable<string> {
    return this.#keys.keys();
  }

  /** True for a key of the master's own user. Reads the files again for an unknown key. */
  async isOwn(key: string): Promise<boolean> {
    if (!this.#keys.has(key)) await this.#look();
    return this.#own.includes(this.#keys.get(key) ?? '');
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    try {
      this.#keys = new Map(
        (await readUserKeys(this.#cachedir)).map(({ user, key }) => [key, user]),
      );
    } catch (error) {
      this.#onTrouble('the key files of local users can not be read', error);
    }
  }
}
