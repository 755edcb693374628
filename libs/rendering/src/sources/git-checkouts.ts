import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Git, GitPillarError, type GitSettings, placeTree } from '@brine/git';

/** A ref that git takes (git-check-ref-format), as a branch or tag is named. */
const REF_NAME =
  /^(?![-/.])(?!.*(?:\.\.|\/\/|\/\.|@\{|\.lock(?:\/|$)))[^\u0000-\u0020\u007f~^:?*[\\]+(?<![/.])$/;

const COMMIT_ID = /^[0-9a-f]{40}$/;

/** Bytes of the longest name that a ref can have: a file name within the copy. */
const REF_NAME_MAX_BYTES = 255;

/** The copies of repositories, below a cache directory. */
const COPIES = 'brine-git-pillar';
/** In each of them: its time says when it was last fetched, or tried. */
const MARK = 'fetched';

/** The refs wanted of a remote. */
export interface GitPlace {
  readonly url: string;
  /** Exact names of branches or tags, the first that is there. */
  readonly refs: readonly string[];
  /** Those of them that may be ids of commits too, since no minion named them. */
  readonly ownRefs: readonly string[];
}

/**
 * The directory with the files of a branch, tag or commit, fetched again when due. Threads
 * and workers of a host share it: a checkout is complete before it has its name.
 * @throws GitPillarError where the repository has no such ref, or no room for its files
 */
export function checkoutOf(place: GitPlace, settings: GitSettings): string {
  const { url, refs } = place;
  const { git, dir } = copyOf(url, settings);
  fetchWhereDue(git, url, join(dir, MARK), settings);
  const commit = commitOf(git, place);
  if (commit === undefined) throw new GitPillarError(`${url} has no ${refs.join(' or ')}`);
  return placeTree(git, dir, commit);
}

/**
 * Fetches a repository now; true where that changed a branch or a tag.
 * @throws GitPillarError where it cannot be fetched
 */
export function fetchNow(url: string, settings: GitSettings): boolean {
  const { git, dir } = copyOf(url, settings);
  const refs = (): string => git.run(['for-each-ref', '--format=%(refname) %(objectname)']);
  const before = refs();
  writeFileSync(join(dir, MARK), '');
  fetch(git, url);
  return refs() !== before;
}

/** When a repository was last fetched on this host, or tried, in Unix ms; undefined for never. */
export function lastFetchMs(cacheDir: string): number | undefined {
  const copies = join(cacheDir, COPIES);
  if (!existsSync(copies)) return undefined;
  const times = readdirSync(copies).map(
    (name) => statSync(join(copies, name, MARK), { throwIfNoEntry: false })?.mtimeMs ?? 0,
  );
  const last = Math.max(0, ...times);
  return last === 0 ? undefined : last;
}

/** The copy of a repository, made where there is none. @throws GitPillarError */
function copyOf(url: string, settings: GitSettings): { readonly git: Git; readonly dir: string } {
  if (url.startsWith('-')) throw new GitPillarError(`not a URL: ${url}`);
  const named = createHash('sha256')
    .update(JSON.stringify([url, settings.user]))
    .digest('hex');
  const dir = join(settings.cacheDir, COPIES, named.slice(0, 32));
  const git = new Git(join(dir, 'git'), settings);
  if (!existsSync(join(dir, 'git', 'HEAD'))) {
    mkdirSync(join(dir, 'git'), { recursive: true, mode: 0o700 });
    git.run(['init', '--quiet', '--bare', '.']);
  }
  return { git, dir };
}

/** @throws GitPillarError */
function fetch(git: Git, url: string): void {
  const specs = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*'];
  git.run(['fetch', '--quiet', '--prune', '--force', '--no-tags', '--', url, ...specs]);
}

function fetchWhereDue(git: Git, url: string, mark: string, settings: GitSettings): void {
  const last = statSync(mark, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (Date.now() - last < settings.updateIntervalMs) return;
  // Marked first, so that others do not fetch too, and a remote that is away has rest.
  writeFileSync(mark, '');
  try {
    fetch(git, url);
  } catch (error) {
    if (last === 0) utimesSync(mark, 0, 0);
    settings.log('error', `git_pillar: ${url} was not fetched: ${(error as Error).message}`);
  }
}

/** Exact names only, as in gitfs: minions choose them, and git's own syntax allows much more. */
function commitOf(git: Git, { refs, ownRefs }: GitPlace): string | undefined {
  for (const ref of refs) {
    const found = commitNamed(git, ref);
    if (found !== undefined) return found;
    if (!COMMIT_ID.test(ref) || !ownRefs.includes(ref)) continue;
    const own = git.ask(['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
    if (own !== undefined) return own;
  }
  return undefined;
}

function commitNamed(git: Git, ref: string): string | undefined {
  if (!REF_NAME.test(ref) || Buffer.byteLength(ref) > REF_NAME_MAX_BYTES) return undefined;
  const names = [`refs/heads/${ref}`, `refs/tags/${ref}`];
  const format = '--format=%(refname) %(objectname)';
  const listed = (git.ask(['for-each-ref', format, ...names]) ?? '').split('\n');
  for (const name of names) {
    // Git lists what is below a name as well.
    const id = listed.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1);
    const commit =
      id === undefined
        ? undefined
        : git.ask(['rev-parse', '--verify', '--quiet', `${id}^{commit}`]);
    if (commit !== undefined) return commit;
  }
  return undefined;
}
