import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Tree } from './reach/import-graph.ts';

/** The root of the checkout. */
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Default base of a comparison: changes older than this have been tested at least once. */
const JUDGED_AFTER = '1 day ago';

/** A change: its base commit, and the paths that differ, also deleted ones. */
export interface Change {
  /** Its full hash; undefined without a base: everything has changed. */
  readonly base: string | undefined;
  readonly paths: readonly string[];
}

/** The files of this checkout that git tracks or would add. */
export function workingTree(): Tree {
  const listed = git('ls-files', '-co', '--exclude-standard').split('\n');
  const gone = new Set(git('ls-files', '-d').split('\n'));
  const paths = [...new Set(listed)].filter((path) => path !== '' && !gone.has(path));
  return { paths, text: (path) => readFileSync(join(ROOT, path), 'utf8') };
}

/**
 * The differences to a commit, including uncommitted ones.
 * @param base a commit or branch; without it the newest commit that is older than a day
 * @throws Error if git does not know it
 */
export function changeSince(base: string | undefined): Change {
  const commit =
    base === undefined ? git('rev-list', '-1', `--before=${JUDGED_AFTER}`, 'HEAD') : forkOf(base);
  if (commit === '') return { base: undefined, paths: workingTree().paths };
  // Renames count as both: the old path may be one that a test reads.
  const changed = git('diff', '--name-only', '--no-renames', commit).split('\n');
  const fresh = git('ls-files', '-o', '--exclude-standard').split('\n');
  return {
    base: commit,
    paths: [...new Set([...changed, ...fresh])].filter((path) => path !== ''),
  };
}

/** The hash of the commit that is checked out. */
export function headCommit(): string {
  return git('rev-parse', 'HEAD');
}

function forkOf(base: string): string {
  try {
    return git('merge-base', 'HEAD', base);
  } catch (error) {
    throw new Error(`git knows no ${base} to compare with`, { cause: error });
  }
}

function git(...args: readonly string[]): string {
  const options = {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: 'pipe',
    maxBuffer: 64 * 1024 * 1024,
  } as const;
  return execFileSync('git', args, options).trim();
}
