import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Gate } from '@brine/tasks';

/** Files open at once for pieces; further requests wait. */
const OPEN_MAX = 64;
const gate = new Gate(OPEN_MAX);

/** Reads up to `size` bytes from the offset `at`; empty at the end, undefined without the file. */
export function readPiece(path: string, at: number, size: number): Promise<Buffer | undefined> {
  return gate.run(async () => {
    let handle: FileHandle;
    try {
      handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch {
      return undefined;
    }
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) return undefined;
      const piece = Buffer.allocUnsafe(Math.max(0, Math.min(size, stats.size - at)));
      let filled = 0;
      while (filled < piece.length) {
        const { bytesRead } = await handle.read(piece, filled, piece.length - filled, at + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return piece.subarray(0, filled);
    } finally {
      await handle.close();
    }
  });
}
