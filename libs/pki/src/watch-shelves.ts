import type { FSWatcher } from 'node:fs';
import { watch } from 'node:fs';
import { mayHaveKey } from '@brine/job';
import type { KeyShelf } from './key-dirs.ts';
import { KEY_SHELVES, shelfDir } from './key-dirs.ts';

/** Watches the key directories. {@link renew} watches again a directory that went away. */
export class ShelfWatch {
  readonly #pkiDir: string;
  readonly #onChange: (shelf: KeyShelf, id: string) => void;
  readonly #watchers = new Map<KeyShelf, FSWatcher>();

  constructor(pkiDir: string, onChange: (shelf: KeyShelf, id: string) => void) {
    this.#pkiDir = pkiDir;
    this.#onChange = onChange;
    this.renew();
  }

  /** Watches the directories that are not watched yet; true when all are. */
  renew(): boolean {
    for (const shelf of KEY_SHELVES) {
      if (!this.#watchers.has(shelf)) this.#start(shelf);
    }
    return this.#watchers.size === KEY_SHELVES.length;
  }

  /** Starts all watchers again, because the directories may have been replaced. */
  restart(): boolean {
    this.close();
    return this.renew();
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #start(shelf: KeyShelf): void {
    try {
      const watcher = watch(shelfDir(this.#pkiDir, shelf), (_event, name) => {
        if (name !== null && mayHaveKey(name)) this.#onChange(shelf, name);
      });
      watcher.on('error', () => this.#drop(shelf, watcher));
      this.#watchers.set(shelf, watcher);
    } catch {
      // Not there, or no inotify watches left: the rescan every few seconds finds changes too.
    }
  }

  #drop(shelf: KeyShelf, watcher: FSWatcher): void {
    watcher.close();
    if (this.#watchers.get(shelf) === watcher) this.#watchers.delete(shelf);
  }
}
