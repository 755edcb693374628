import { readUserKeys } from '@brine/cachedir';
import type { Trouble } from '@brine/tasks';

/** A key file that is made meanwhile is known at the next look. */
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

  /** @param user the user of the master; root may do what they may */
  static async open(cachedir: string, user: string, onTrouble: Trouble): Promise<LocalKeys> {
    const keys = new LocalKeys(cachedir, [user, 'root'], onTrouble);
    await keys.#look();
    return keys;
  }

  /** All keys that were seen at the last look. */
  all(): Iterable<string> {
    return this.#keys.keys();
  }

  /** Whether a key is one of the master's own user. Looks again for one that is not known. */
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
