import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Done, FileBackend, FileLists, FoundFile, RemoteCopies } from './backend.ts';
import { FileHashes } from './file-hashes.ts';
import { mergeLists } from './merge-lists.ts';
import { readPiece } from './pieces.ts';

/** A file and the backend that found it. */
export interface Found extends FoundFile {
  readonly back: string;
}

/** A piece of a file. Without data it is the end; without `dest` the file does not exist. */
export interface Piece {
  readonly data: Uint8Array;
  readonly dest: string;
  /** The level of compression, if the data is compressed. */
  readonly gzip?: number;
}

/** A minion's request for a piece. */
export interface PieceRequest {
  readonly path: string;
  readonly saltenv: string;
  /** Offset in bytes. */
  readonly loc: number;
  /** Compression level, 1 to 9. */
  readonly gzip?: number;
}

/** The hash of a file in hex, and its algorithm. */
export interface FileHash {
  readonly hashType: string;
  readonly hsum: string;
}

/** The options of a file server. */
export interface FileServerOptions {
  readonly backends: readonly FileBackend[];
  readonly hashType: string;
  /** Most bytes in one piece. */
  readonly pieceBytes: number;
}

const compress = promisify(gzip);
const NOT_FOUND: Piece = { data: new Uint8Array(0), dest: '' };

/** Salt's file server: the backends in their order (salt/fileserver/__init__.py Fileserver). */
export class FileServer {
  readonly #options: FileServerOptions;
  readonly #hashes: FileHashes;

  /** @throws Error for a `hash_type` that OpenSSL does not know */
  constructor(options: FileServerOptions) {
    this.#options = options;
    this.#hashes = new FileHashes(options.hashType);
  }

  /** The file of the first backend that has it. A path may end in `?saltenv=…`. */
  async find(asked: string, saltenv: string): Promise<Found | undefined> {
    const { path, query } = readPath(asked);
    if (path.startsWith('/') || path.includes('../')) return undefined;
    const env = query.get('saltenv') ?? saltenv;
    for (const backend of this.#options.backends) {
      const found = await backend.find(path, env, query);
      if (found !== undefined) return { ...found, back: backend.name };
    }
    return undefined;
  }

  /** A piece of a file from an offset. */
  async serve(asked: PieceRequest): Promise<Piece> {
    const found = await this.find(asked.path, asked.saltenv);
    if (found === undefined) return NOT_FOUND;
    const backend = this.#options.backends.find(({ name }) => name === found.back);
    const dest = found.rel;
    const none = { data: NOT_FOUND.data, dest };
    if (backend === undefined || !(await backend.mayServe(found, asked.saltenv))) return none;
    const data = await readPiece(found.path, asked.loc, this.#options.pieceBytes);
    if (data === undefined) return NOT_FOUND;
    if (asked.gzip === undefined || data.length === 0) return { data, dest };
    return { data: await compress(data, { level: asked.gzip }), dest, gzip: asked.gzip };
  }

  /** The hash and `stat` of a file; undefined for a missing one, no hash if it just vanished. */
  async hash(
    path: string,
    saltenv: string,
  ): Promise<{ readonly found: Found; readonly hash: FileHash | undefined } | undefined> {
    const found = await this.find(path, saltenv);
    if (found === undefined) return undefined;
    const hsum = await this.#hashes.of(found.path);
    const { hashType } = this.#options;
    return { found, hash: hsum === undefined ? undefined : { hashType, hsum } };
  }

  /** The lists of all backends, or the named ones, for an environment. */
  async lists(saltenv: string, back?: readonly string[]): Promise<FileLists> {
    const parts = this.#backends(back).map((backend) => backend.lists(saltenv));
    return mergeLists(await Promise.all(parts));
  }

  /** The environments by backend. */
  async envs(back?: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const entries = this.#backends(back).map(
      async (backend) => [backend.name, await backend.envs()] as const,
    );
    return new Map(await Promise.all(entries));
  }

  /** Fetches remotes at once: all, or those of these names, of all or some backends. */
  async update(back?: readonly string[], remotes?: readonly string[]): Promise<void> {
    await Promise.all(this.#copies(back).map(([, copies]) => copies.update(remotes)));
  }

  /** Empties the copies of remotes and fetches them again. */
  async clearCopies(back?: readonly string[]): Promise<Done> {
    const done: string[] = [];
    const errors: string[] = [];
    for (const [name, copies] of this.#copies(back)) {
      const wrong = await copies.clear();
      if (wrong.length > 0) errors.push(...wrong);
      else done.push(`The ${name} fileserver cache was successfully cleared`);
    }
    return { done, errors };
  }

  /** Locks updates of remotes, or removes such locks. */
  async changeLocks(
    to: 'lock' | 'clear',
    back?: readonly string[],
    remote?: string,
  ): Promise<Done> {
    const parts: Done[] = [];
    for (const [, copies] of this.#copies(back)) {
      parts.push(await (to === 'lock' ? copies.lock(remote) : copies.clearLock(remote)));
    }
    return {
      done: parts.flatMap(({ done }) => done),
      errors: parts.flatMap(({ errors }) => errors),
    };
  }

  /** Forgets lists of files; returns the environments that had one, by backend. */
  forgetLists(
    saltenvs?: readonly string[],
    back?: readonly string[],
  ): ReadonlyMap<string, readonly string[]> {
    const forgotten = this.#backends(back).map(
      (backend) => [backend.name, backend.forgetLists?.(saltenvs) ?? []] as const,
    );
    return new Map(forgotten.filter(([, envs]) => envs.length > 0));
  }

  /** Closes the backends. */
  async close(): Promise<void> {
    await Promise.all(this.#options.backends.map((backend) => backend.close()));
  }

  #copies(back: readonly string[] | undefined): readonly (readonly [string, RemoteCopies])[] {
    return this.#backends(back).flatMap(({ name, copies }) =>
      copies === undefined ? [] : [[name, copies] as const],
    );
  }

  /** The named backends, or all except those named with a dash. */
  #backends(names: readonly string[] | undefined): readonly FileBackend[] {
    const all = this.#options.backends;
    if (names === undefined) return all;
    if (names.every((name) => name.startsWith('-'))) {
      return all.filter(({ name }) => !names.includes(`-${name}`));
    }
    return names.flatMap((asked) => {
      const found = all.find(({ name }) => name === asked || (name === 'gitfs' && asked === 'git'));
      return found === undefined ? [] : [found];
    });
  }
}

/** Splits off `?key=value&…`, unless the path is escaped by a bar (salt/utils/url.py). */
function readPath(asked: string): {
  readonly path: string;
  readonly query: ReadonlyMap<string, string>;
} {
  if (asked.startsWith('|')) return { path: asked.replace(/^\|+/, ''), query: new Map() };
  const [path = '', text = ''] = asked.split('?');
  const query = new Map<string, string>();
  for (const part of text.split('&')) {
    const at = part.indexOf('=');
    if (at >= 0) query.set(part.slice(0, at), part.slice(at + 1));
  }
  return { path, query };
}
