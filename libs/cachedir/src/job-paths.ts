import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { CachedirError } from './errors.ts';

/** The options of Salt that shape the job cache on disk. */
export interface JobFilesOptions {
  readonly cachedir: string;
  /** `hash_type`, default sha256. */
  readonly hashType?: string;
}

/** `<cachedir>/jobs`. */
export function jobsRoot(cachedir: string): string {
  return join(cachedir, 'jobs');
}

/** Directory of a job: `<cachedir>/jobs/<h2>/<h62>` (Salt: salt/utils/jid.py jid_dir). */
export function jobDir(options: JobFilesOptions, jid: string): string {
  const hash = createHash(options.hashType ?? 'sha256')
    .update(jid)
    .digest('hex');
  return join(jobsRoot(options.cachedir), hash.slice(0, 2), hash.slice(2));
}

/** Directory of a minion's return. Throws CachedirError for an id that can not be a file name. */
export function returnDir(jobDirectory: string, id: string): string {
  const odd = id.length === 0 || id.startsWith('.') || Buffer.byteLength(id) > 255;
  if (odd || /[/\\\0]/.test(id)) {
    throw new CachedirError('SALT_CACHEDIR_BAD_ID', 'minion id can not be a file name');
  }
  return join(jobDirectory, id);
}
