import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { childEnvironment } from '@brine/environment';
import { bindFilter, type Filter, JinjaError, typeName, Undefined } from '@brine/jinja';

/** Longest work of one filter: hashing a file, listing a tree. */
const TIME_MAX_MS = 20_000;
const CHUNK_BYTES = 65_536;
const ENTRIES_MAX = 65_536;
const NAME_SERVICE_MS = 3_000;

/**
 * Salt's filters for files and users of the host (Salt: salt/utils/{path,files,hashutils,user}.py).
 * They only read, with the rights of this process.
 */
export const FILE_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  [
    'file_hashsum',
    (value, args) => {
      const defaults = { form: 'sha256', chunk_size: CHUNK_BYTES };
      const names = ['form', 'chunk_size'];
      const bound = bindFilter('get_hash', 'path', value, names, args, defaults);
      return hashOf(value, bound.get('form'));
    },
  ],
  ['get_uid', (value) => uidOf(value)],
  ['is_bin_file', (value) => isBinaryFile(value)],
  ['is_empty', (value) => sizeOf(statPath(value)) === 0],
  [
    'is_text_file',
    (value, args) => {
      const defaults = { blocksize: 512 };
      const bound = bindFilter('is_text', 'fp_', value, ['blocksize'], args, defaults);
      const size = Math.min(Math.max(Number(bound.get('blocksize')) || 0, 0), CHUNK_BYTES);
      const block = head(filePath(value), size);
      return block !== undefined && !isBinary(block);
    },
  ],
  ['list_files', (value) => listed(value)],
  ['which', (value) => which(value)],
]);

function error(kind: 'TypeError' | 'ValueError' | 'Raised' | 'Limit', text: string): JinjaError {
  return new JinjaError(kind, text);
}

/** The path of a file to open. @throws JinjaError with Python's text */
function filePath(value: unknown): string {
  if (value instanceof Undefined) throw value.error();
  if (typeof value !== 'string') {
    const type = typeName(value);
    throw error('TypeError', `expected str, bytes or os.PathLike object, not ${type}`);
  }
  return withoutNull(value);
}

/** The path of a file to examine. @throws JinjaError with Python's text */
function statPath(value: unknown): string {
  if (typeof value === 'string') return withoutNull(value);
  const words = 'stat: path should be string, bytes, os.PathLike or integer, not';
  throw error('TypeError', `${words} ${typeName(value)}`);
}

function withoutNull(path: string): string {
  if (path.includes('\0')) throw error('ValueError', 'embedded null byte');
  return path;
}

const FAULTS: Readonly<Record<string, string>> = {
  EACCES: '[Errno 13] Permission denied',
  EISDIR: '[Errno 21] Is a directory',
  ELOOP: '[Errno 40] Too many levels of symbolic links',
  ENAMETOOLONG: '[Errno 36] File name too long',
  ENOENT: '[Errno 2] No such file or directory',
  ENOTDIR: '[Errno 20] Not a directory',
  EPERM: '[Errno 1] Operation not permitted',
};

/** The error of a file with Python's text. */
function fault(cause: unknown, path: string): JinjaError {
  const { code, message } = cause as NodeJS.ErrnoException;
  return error('Raised', `${FAULTS[code ?? ''] ?? message}: '${path}'`);
}

/** Opens a file for a function, without blocking: a pipe must not stop the thread. */
function opened<T>(path: string, run: (file: number) => T): T {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return run(file);
  } finally {
    closeSync(file);
  }
}

/** OpenSSL's names of Python's hashes. */
const OPENSSL: ReadonlyMap<string, string> = new Map([
  ...['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'].map((name) => [name, name] as const),
  ...[224, 256, 384, 512].map((bits) => [`sha3_${bits}`, `sha3-${bits}`] as const),
  ['blake2b', 'blake2b512'],
  ['blake2s', 'blake2s256'],
]);

function hashOf(value: unknown, form: unknown): string {
  const algorithm = typeof form === 'string' ? OPENSSL.get(form) : undefined;
  if (algorithm === undefined) throw error('ValueError', `Invalid hash type: ${String(form)}`);
  const path = filePath(value);
  try {
    return opened(path, (file) => hashed(file, algorithm, path));
  } catch (cause) {
    throw cause instanceof JinjaError ? cause : fault(cause, path);
  }
}

function hashed(file: number, algorithm: string, path: string): string {
  const facts = fstatSync(file);
  if (facts.isDirectory()) throw Object.assign(new Error('a directory'), { code: 'EISDIR' });
  if (!facts.isFile()) throw error('ValueError', `file_hashsum: '${path}' is no regular file`);
  const sum = createHash(algorithm);
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  const start = performance.now();
  for (;;) {
    const length = readSync(file, chunk);
    if (length === 0) return sum.digest('hex');
    sum.update(chunk.subarray(0, length));
    inTime(start, 'file_hashsum');
  }
}

function inTime(start: number, filter: string): void {
  if (performance.now() - start <= TIME_MAX_MS) return;
  throw error('Limit', `${filter} takes longer than ${TIME_MAX_MS / 1000} s`);
}

/** The first bytes of a file; undefined for an unreadable file. */
function head(path: string, size: number): Buffer | undefined {
  try {
    return opened(path, (file) => {
      const block = Buffer.alloc(size);
      return block.subarray(0, readSync(file, block, 0, size, null));
    });
  } catch {
    return undefined; // Salt's answer gives no reason either.
  }
}

/** True if over 30 % of the bytes belong to no text (Salt: salt/utils/stringutils.py is_binary). */
function isBinary(block: Buffer | undefined): boolean {
  if (block === undefined || block.length === 0) return false;
  if (block.includes(0)) return true;
  const isText = hasUtf8(block);
  const odd = block.filter((byte) => {
    if (byte >= 128) return byte === 255 || !isText;
    return byte === 127 || (byte < 32 && !(byte >= 8 && byte <= 13 && byte !== 11));
  });
  return odd.length / block.length > 0.3;
}

/** True for UTF-8, even with its last character cut. */
function hasUtf8(block: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(block, { stream: true });
    return true;
  } catch {
    return false;
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false; // Like Python's isfile: the file is missing, or unreadable.
  }
}

function isBinaryFile(value: unknown): boolean {
  if (typeof value === 'string' && value.includes('\0')) return false;
  const path = statPath(value);
  return isFile(path) && isBinary(head(path, 2_048));
}

function sizeOf(path: string): number | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size;
  } catch {
    return undefined; // A directory on the way without access: not empty for Salt.
  }
}

/** The directory and everything below it. Links are followed; each directory is listed once. */
function listed(value: unknown): string[] {
  if (value instanceof Undefined) throw value.error();
  const top = statPath(value);
  const start = performance.now();
  const found = [top];
  const seen = new Set<string>();
  for (const dirs = [top]; dirs.length > 0;) {
    const dir = dirs.pop() ?? '';
    for (const name of namesIn(dir, seen)) {
      const path = join(dir, name);
      found.push(path);
      if (isDirectory(path)) dirs.push(path);
      if (found.length > ENTRIES_MAX) {
        throw error('Limit', `list_files: '${top}' has more than ${ENTRIES_MAX} entries`);
      }
      inTime(start, 'list_files');
    }
  }
  return found;
}

function namesIn(dir: string, seen: Set<string>): string[] {
  try {
    const { dev, ino } = statSync(dir, { bigint: true });
    if (seen.has(`${dev} ${ino}`)) return [];
    seen.add(`${dev} ${ino}`);
    return readdirSync(dir).sort();
  } catch {
    return []; // No directory, or an unreadable one: Salt skips it.
  }
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // A broken link.
  }
}

const USUAL_PATH = ['/sbin', '/bin', '/usr/sbin', '/usr/bin', '/usr/local/sbin', '/usr/local/bin'];

function which(value: unknown): string | null {
  if (value instanceof Undefined) throw value.error();
  if (value === null || value === '' || value === false) return null;
  if (typeof value === 'string' && value.includes('\0')) return null;
  const name = filePath(value);
  if (isExecutable(name)) return name;
  const own = (childEnvironment(process.env)['PATH'] ?? '').split(':');
  const path = [...own, ...USUAL_PATH.filter((dir) => !own.includes(dir))];
  return path.map((dir) => join(dir === '' ? '.' : dir, name)).find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function uidOf(value: unknown): number | null {
  if (value === null) return process.geteuid?.() ?? null;
  if (typeof value !== 'string') {
    throw error('TypeError', `getpwnam() argument must be str, not ${typeName(value)}`);
  }
  const name = withoutNull(value);
  const line = userLine(readFileSync('/etc/passwd', 'utf8'), name) ?? fromNameService(name);
  const uid = line?.split(':')[2];
  return uid === undefined ? null : Number(uid);
}

function userLine(text: string, name: string): string | undefined {
  return text.split('\n').find((line) => line.startsWith(`${name}:`));
}

/** Users in none of the host's files. */
function fromNameService(name: string): string | undefined {
  if (!/^[^-:\s][^:\n]*$/.test(name)) return undefined;
  const options = { env: childEnvironment(process.env), timeout: NAME_SERVICE_MS };
  const { status, stdout } = spawnSync('getent', ['passwd', name], options);
  // No such user (exit 2), or a host without getent: both mean an unknown user.
  return status === 0 ? userLine(stdout.toString('utf8'), name) : undefined;
}
