import { constants } from 'node:fs';
import { mkdir, open, realpath } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { isSystemError } from '@brine/files';

/** A piece of a file that a minion sends (`cp.push`). */
export interface ReceivedPiece {
  /** An accepted minion's id. */
  readonly id: string;
  /** Components of the path as they were received. */
  readonly path: readonly string[];
  /** Offset in bytes. */
  readonly loc: number;
  readonly data: Uint8Array;
}

/** Longest name Linux takes (NAME_MAX, PATH_MAX). */
const PATH_MAX_BYTES = 4095;

/** Files that minions sent: `<cachedir>/minions/<id>/files/…`, as salt/master.py `_file_recv`. */
export class Uploads {
  readonly #cachedir: string;

  constructor(cachedir: string) {
    this.#cachedir = cachedir;
  }

  /**
   * Writes a piece at its offset, the first one into an empty file. Written at its offset, and not
   * appended as in Salt, a piece that comes twice does no harm. False where the path leads out of
   * the minion's directory or cannot be a file.
   * @throws Error of the system where the disk refuses.
   */
  async write({ id, path, loc, data }: ReceivedPiece): Promise<boolean> {
    const root = join(this.#cachedir, 'minions', id, 'files');
    const relative = normalize(path.join('/'));
    if (id === '' || /[/\0]/.test(id) || id === '..' || id === '.') return false;
    if (relative.includes('\0') || relative.startsWith('/') || relative.endsWith('/')) return false;
    if (relative === '.' || relative === '..' || relative.startsWith('../')) return false;
    const full = join(root, relative);
    if (Buffer.byteLength(full) > PATH_MAX_BYTES) return false;
    try {
      await mkdir(dirname(full), { recursive: true, mode: 0o700 });
      const inside = await realpath(dirname(full));
      const realRoot = await realpath(root);
      if (inside !== realRoot && !inside.startsWith(`${realRoot}/`)) return false;
      await writeAt(full, loc, data);
      return true;
    } catch (error) {
      // A component that is a file, a name that is too long, a link or a directory in its place.
      if (isSystemError(error, ...NO_FILE)) return false;
      throw error;
    }
  }
}

const NO_FILE = ['EEXIST', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'ELOOP', 'ENXIO'];

async function writeAt(path: string, loc: number, data: Uint8Array): Promise<void> {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW, O_NONBLOCK } = constants;
  const flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | (loc === 0 ? O_TRUNC : 0);
  const file = await open(path, flags, 0o600);
  try {
    for (let written = 0; written < data.length;) {
      const { bytesWritten } = await file.write(
        data,
        written,
        data.length - written,
        loc + written,
      );
      written += bytesWritten;
    }
  } finally {
    await file.close();
  }
}
