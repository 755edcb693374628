import type { FSWatcher } from 'node:fs';
import { watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere, removeIfThere, textIfThere, writeAtomic } from '@brine/files';

/** What a drop file asks for: a new AES key, or nothing (then it is only removed). */
export type DropFile = 'none' | 'rotate' | 'foreign';

/** Inotify may be missing or exhausted, so a timer looks this often too, in milliseconds. */
const LOOK_EVERY_MS = 2_000;

/** `<cachedir>/.dfn`, by which `salt-key -d` and `-r` ask for a new AES key. */
export function dropFilePath(cachedir: string): string {
  return join(cachedir, '.dfn');
}

/**
 * Looks for the drop file. 3006 writes an empty file of mode 0400; 3007 and later write the
 * master's id (Salt: salt/crypt.py dropfile, salt/master.py Maintenance.handle_key_rotate). A file
 * of another mode without the id is `foreign`: no tool has written it.
 */
export async function readDropFile(cachedir: string, masterId: string): Promise<DropFile> {
  const path = dropFilePath(cachedir);
  const found = await ifThere(stat(path));
  if (found !== undefined && (found.mode & 0o777) === 0o400) return 'rotate';
  const content = (await textIfThere(path))?.trim();
  if (content === undefined) return 'none';
  return content === masterId ? 'rotate' : 'foreign';
}

/** Removes the drop file; false when it was gone already. */
export function removeDropFile(cachedir: string): Promise<boolean> {
  return removeIfThere(dropFilePath(cachedir));
}

/** Writes a drop file as `salt-key` of 3007 and later does; it appears complete. */
export function writeDropFile(cachedir: string, masterId: string): Promise<void> {
  return writeAtomic(dropFilePath(cachedir), masterId, { mode: 0o400 });
}

/** Calls `onSight` when there may be a drop file: at once on inotify, else every two seconds. */
export class DropFileWatch {
  readonly #timer: NodeJS.Timeout;
  #watcher: FSWatcher | undefined;

  constructor(cachedir: string, onSight: () => void) {
    this.#timer = setInterval(onSight, LOOK_EVERY_MS);
    this.#timer.unref();
    try {
      this.#watcher = watch(cachedir, (_event, name) => {
        if (name === '.dfn') onSight();
      });
      this.#watcher.on('error', () => this.#watcher?.close());
    } catch {
      // The timer finds it too.
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#watcher?.close();
  }
}
