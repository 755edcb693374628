import { readFileSync } from 'node:fs';

let read: string | undefined;

/** The release of Brine that this process was started from. It does not change when files do. */
export function ownRelease(): string {
  read ??= releaseOnDisk();
  return read;
}

/** The release that is installed now, as `0.2.0`. Throws as the file system does. */
export function releaseOnDisk(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { readonly version: string };
  return version;
}
