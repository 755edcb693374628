import { chmodSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** An account that owns nothing of the system. */
export const NOBODY = 65_534;
/** Only root can make directories of others, and works in them as their owner. */
export const isRoot = process.getuid?.() === 0;

/** Lets other users pass through a directory of a test and those above it that are closed. */
export function letPass(dir: string): void {
  for (let at = dir; at !== dirname(at); at = dirname(at)) {
    const { mode } = statSync(at);
    if ((mode & 0o001) === 0) chmodSync(at, (mode & 0o7777) | 0o011);
  }
}
