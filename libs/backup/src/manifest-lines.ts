import type { FileRoot } from './file-records.ts';
import type { Manifest } from './manifest.ts';

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** `3.4 MiB`. */
export function bytesInWords(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < UNITS.length - 1) [value, unit] = [value / 1024, unit + 1];
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

const KEYS: readonly FileRoot[] = ['pki', 'own-pki', 'certificates'];

/** The content of a backup, as lines. */
export function manifestLines(manifest: Manifest): string {
  const { master, host, release, mark, lastJid, files, streams, readers, parts } = manifest;
  const keys = files.filter(({ root }) => KEYS.includes(root)).length;
  const buckets = streams.filter(({ name }) => name.startsWith('KV_'));
  const messages = (name: string): number =>
    streams.find((stream) => stream.name === name)?.messages ?? 0;
  const values = buckets.reduce((sum, bucket) => sum + bucket.messages, 0);
  const tables = parts.filter(({ name, bytes }) => name.startsWith('tables/') && bytes > 0);
  const rows = tables.reduce((sum, { bytes }) => sum + bytes, 0);
  return [
    `master: ${master} on ${host}, Brine ${release}`,
    `mark: ${mark}; last job ${lastJid === '' ? 'none' : lastJid}`,
    `files: ${files.length - keys} of the configuration, ${keys} keys`,
    `streams: ${messages('EVENTS')} events, ${messages('PUBLICATIONS')} jobs, ` +
      `${readers.length} readers`,
    `buckets: ${values} values in ${buckets.length}`,
    `PostgreSQL: ${bytesInWords(rows)} in ${tables.length} tables`,
    '',
  ].join('\n');
}
