export { BRINE, brineEnv } from '../brine/brine-program.ts';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
const BUILT = '.brine-checkout-built';
/** Checkouts that are kept; the oldest are removed. */
const KEPT_MAX = 5;

/** A built checkout. */
export interface BuiltCheckout {
  readonly dir: string;
  /** Its name for people: a commit, or the directory. */
  readonly name: string;
}

/**
 * A checkout beside this one: a directory as it is, or a commit, which is checked out and built
 * below `~/.cache/brine/bench` once. Empty: the last commit or, without changed files, its parent.
 * @throws Error if git knows no such commit or it does not build.
 */
export async function openCheckout(
  root: string,
  asked: string,
  say: (line: string) => void,
): Promise<BuiltCheckout> {
  if (asked !== '' && existsSync(resolve(asked, 'apps/cli/bin/brine.mjs'))) {
    return { dir: resolve(asked), name: asked };
  }
  const wanted = asked === '' ? await defaultBase(root) : asked;
  const commit = await git(root, 'rev-parse', '--verify', `${wanted}^{commit}`);
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'brine', 'bench');
  const dir = join(cache, commit.slice(0, 12));
  if (!existsSync(join(dir, BUILT))) {
    say(`building ${commit.slice(0, 12)} in ${dir}`);
    await mkdir(cache, { recursive: true });
    await dropOldest(cache);
    await rm(dir, { recursive: true, force: true });
    await git(root, 'worktree', 'prune');
    await git(root, 'worktree', 'add', '--detach', '--force', dir, commit);
    await install(dir);
    // With its native part: otherwise it would be slower than the release.
    await run('npm', ['run', '-s', 'build'], { cwd: dir, maxBuffer: MAX_OUTPUT_BYTES });
    await writeFile(join(dir, BUILT), '');
  }
  return { dir, name: `${wanted} (${commit.slice(0, 12)})` };
}

/**
 * The commit that made the last release: the last one that changed the version.
 * @throws Error if the history has none, as in a shallow clone.
 */
export async function lastRelease(root: string): Promise<string> {
  const changed = ['-G', '^  "version": ', '--', 'package.json'];
  const commit = await git(root, 'log', '-1', '--format=%H', ...changed);
  const isShallow = (await git(root, 'rev-parse', '--is-shallow-repository')) === 'true';
  if (commit === '' || isShallow) {
    throw new Error(`no release in the history of ${root}; a shallow clone lacks it`);
  }
  return commit;
}

/** Compiles a checkout; does nothing if it is up to date. */
export async function tsc(dir: string): Promise<void> {
  const compiler = join(dir, 'node_modules', 'typescript', 'bin', 'tsc');
  await run(process.execPath, [compiler, '-b'], { cwd: dir, maxBuffer: MAX_OUTPUT_BYTES });
}

/** HEAD if files differ from it, else its parent: the current change is compared either way. */
async function defaultBase(root: string): Promise<string> {
  const changes = await git(root, 'status', '--porcelain', '--untracked-files=no');
  return changes === '' ? 'HEAD~1' : 'HEAD';
}

/**
 * Installs a checkout's own packages. They are not links to those of `root`: the checkout outlives
 * the clone that made it.
 */
async function install(dir: string): Promise<void> {
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  const args = ['ci', '--ignore-scripts', '--prefer-offline', ...quiet];
  await run('npm', args, { cwd: dir, maxBuffer: MAX_OUTPUT_BYTES });
}

/**
 * Gives a directory the packages of another: links to those from outside, and to its own
 * workspaces below `@brine`.
 */
export async function linkModules(root: string, dir: string): Promise<void> {
  const modules = join(dir, 'node_modules');
  await mkdir(modules);
  const names = await readdir(join(root, 'node_modules'));
  for (const name of names.filter((one) => one !== '@brine' && !one.startsWith('.'))) {
    await symlink(join(root, 'node_modules', name), join(modules, name));
  }
  await mkdir(join(modules, '@brine'));
  for (const floor of ['libs', 'apps', 'tools']) {
    const names = existsSync(join(dir, floor)) ? await readdir(join(dir, floor)) : [];
    for (const name of names) {
      const manifest = join(dir, floor, name, 'package.json');
      if (!existsSync(manifest)) continue;
      const { name: full } = JSON.parse(await readFile(manifest, 'utf8')) as { name: string };
      await symlink(join('..', '..', floor, name), join(modules, full));
    }
  }
}

/** They may belong to removed clones, so git is not asked; `worktree prune` follows. */
async function dropOldest(cache: string): Promise<void> {
  const dirs = (await readdir(cache)).map((name) => join(cache, name));
  const ages = await Promise.all(dirs.map(async (dir) => ({ dir, ms: (await stat(dir)).mtimeMs })));
  ages.sort((one, other) => other.ms - one.ms);
  for (const { dir } of ages.slice(KEPT_MAX - 1)) await rm(dir, { recursive: true, force: true });
}

async function git(dir: string, ...args: string[]): Promise<string> {
  const { stdout } = await run('git', ['-C', dir, ...args], { maxBuffer: MAX_OUTPUT_BYTES });
  return stdout.trim();
}
