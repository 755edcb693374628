import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline as pipe } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { isAlive } from '@brine/files';
import type { Write } from '../archive-writer.ts';

/** Shrinks rows and keys to a quarter; a higher level would cost the master CPU. */
const LEVEL = 1;
const MODE = 0o600;

/** A file that appears under its name only when it is complete. */
export interface ArchiveFile {
  readonly write: Write;
  /** Moves it to its place, on disk. Returns its size in bytes. */
  finish(): Promise<number>;
  /** Removes what was written. Never rejects. */
  drop(): Promise<void>;
}

/** Begins a temporary file beside `path`, and removes those of killed runs. */
export async function createArchive(path: string): Promise<ArchiveFile> {
  const place = resolve(path);
  await dropStale(place);
  const draft = draftOf(place, process.pid);
  const gzip = createGzip({ level: LEVEL });
  const file = createWriteStream(draft, { mode: MODE, flags: 'wx', flush: true });
  // An existing file is replaced when this one is complete.
  const written = pipeline(gzip, file);
  written.catch(() => undefined); // Each write and the end throw it.
  await Promise.race([once(file, 'open'), written]);
  return {
    write: async (bytes) => {
      if (gzip.destroyed) await written;
      if (gzip.write(bytes)) return;
      await Promise.race([once(gzip, 'drain'), written]);
    },
    finish: async () => {
      gzip.end();
      await written;
      await rename(draft, place);
      await syncDirectory(dirname(place));
      return file.bytesWritten;
    },
    drop: async () => {
      gzip.destroy();
      await written.catch(() => undefined);
      await rm(draft, { force: true });
    },
  };
}

/** The bytes of an archive. Throws errors of the file system, and for data that is not gzip. */
export async function* readArchive(path: string): AsyncGenerator<Uint8Array, void> {
  const gunzip = createGunzip();
  // A failure of the file ends the reading below.
  pipe(createReadStream(path), gunzip, () => undefined);
  for await (const chunk of gunzip) yield chunk as Buffer;
}

function draftOf(place: string, pid: number): string {
  return join(dirname(place), `.${basename(place)}.${pid}.part`);
}

async function dropStale(place: string): Promise<void> {
  for (const name of await readdir(dirname(place))) {
    const pid = Number(/\.(\d+)\.part$/.exec(name)?.[1] ?? 0);
    const draft = draftOf(place, pid);
    if (pid > 0 && basename(draft) === name && !isAlive(pid)) await rm(draft, { force: true });
  }
}

async function syncDirectory(dir: string): Promise<void> {
  const taken = await open(dir, 'r');
  try {
    await taken.sync();
  } finally {
    await taken.close();
  }
}
