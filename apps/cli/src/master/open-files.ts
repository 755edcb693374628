import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { MasterOptions } from '@brine/config';
import { childEnvironment } from '@brine/environment';
import { shelfDir } from '@brine/pki';

/** A warning about open files, with its level. */
export interface OpenFilesWarning {
  readonly level: 'info' | 'warn' | 'fatal';
  readonly text: string;
}

/** The limit of this process; undefined if the host does not report it. */
export function openFilesLimit(): number | undefined {
  let text: string;
  try {
    text = readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return undefined; // Not Linux.
  }
  const limit = /^Max open files\s+(\d+|unlimited)/m.exec(text)?.[1];
  return limit === 'unlimited' ? Infinity : limit === undefined ? undefined : Number(limit);
}

/**
 * Raises the limit of open files to `max_open_files`, for this process and its children. Node has
 * already raised it as far as the host allows a user; root may raise it further, by `prlimit`.
 * Returns the reason for a lower limit; undefined on success.
 */
export function raiseOpenFiles(wanted: number): string | undefined {
  const limit = openFilesLimit();
  if (limit === undefined || limit >= wanted) return undefined;
  const found = `max_open_files is ${wanted}, and this host allows ${limit}`;
  if (process.getuid?.() !== 0) return `${found}: raise LimitNOFILE in the unit, or ulimit -n`;
  const args = ['--pid', String(process.pid), `--nofile=${wanted}:${wanted}`];
  const tried = spawnSync('prlimit', args, {
    env: childEnvironment(process.env),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (tried.status === 0) return undefined;
  const why = tried.error === undefined ? tried.stderr.trim() : 'prlimit is not installed';
  return `${found}: ${why}; raise LimitNOFILE in the unit`;
}

/**
 * Salt's warning for many keys and few files (salt/utils/verify.py check_max_open_files): each
 * minion has a connection at the gateway and one at the publisher, which other files share.
 */
export function openFilesWarning(
  options: Pick<MasterOptions, 'pkiDir'>,
  limit = openFilesLimit(),
): OpenFilesWarning | undefined {
  const keys = keysIn(shelfDir(options.pkiDir, 'accepted'));
  if (limit === undefined || keys * 4 <= limit) return undefined;
  const level = keys * 2 >= limit ? 'fatal' : keys * 3 >= limit ? 'warn' : 'info';
  const text =
    `${keys} keys are accepted, more than a quarter of the ${limit} files that may be open: ` +
    'raise LimitNOFILE and max_open_files';
  return { level, text };
}

function keysIn(dir: string): number {
  try {
    return readdirSync(dir).length;
  } catch {
    return 0; // The directory does not exist yet.
  }
}
