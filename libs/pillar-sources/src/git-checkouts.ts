import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;

/** Checkouts of one repository that are kept beside those of the last hour. */
const TREES_KEPT = 16;
const TREE_AGE_MS = 3_600_000;

/** Git did not do what it was told. */
export class GitPillarError extends Error {
  override readonly name = 'GitPillarError';
  readonly code = 'BRINE_PILLAR_GIT';
}

/** How repositories are fetched (`git_pillar_…`). */
export interface GitSettings {
  readonly cacheDir: string;
  readonly updateIntervalMs: number;
  readonly sslVerify: boolean;
  readonly user: string;
  readonly password: string;
  readonly privkey: string;
  readonly log: (level: 'error', text: string) => void;
}

/**
 * The directory with the files of a branch, tag or commit, fetched anew where that is due. Threads
 * and workers of a host share it: a checkout is complete before it has its name.
 * @throws GitPillarError where the repository has no such ref
 */
export function checkoutOf(url: string, refs: readonly string[], settings: GitSettings): string {
  if (url.startsWith('-')) throw new GitPillarError(`not a URL: ${url}`);
  const named = createHash('sha256')
    .update(JSON.stringify([url, settings.user]))
    .digest('hex');
  const dir = join(settings.cacheDir, 'brine-git-pillar', named.slice(0, 32));
  const git = new Git(join(dir, 'git'), settings);
  if (!existsSync(join(dir, 'git', 'HEAD'))) {
    mkdirSync(join(dir, 'git'), { recursive: true, mode: 0o700 });
    git.run(['init', '--quiet', '--bare', '.']);
  }
  fetchWhereDue(git, url, join(dir, 'fetched'), settings);
  const commit = commitOf(git, refs);
  if (commit === undefined) throw new GitPillarError(`${url} has no ${refs.join(' or ')}`);
  const trees = join(dir, 'trees');
  const tree = join(trees, commit);
  if (!existsSync(tree)) placeTree(git, dir, commit, tree);
  return tree;
}

function fetchWhereDue(git: Git, url: string, mark: string, settings: GitSettings): void {
  const last = statSync(mark, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (Date.now() - last < settings.updateIntervalMs) return;
  // Marked first: others do not fetch at the same time, and who is away is not asked always.
  writeFileSync(mark, '');
  const specs = ['+refs/heads/*:refs/heads/*', '+refs/tags/*:refs/tags/*'];
  try {
    git.run(['fetch', '--quiet', '--prune', '--force', '--no-tags', '--', url, ...specs]);
  } catch (error) {
    if (last === 0) utimesSync(mark, 0, 0);
    settings.log('error', `git_pillar: ${url} was not fetched: ${(error as Error).message}`);
  }
}

function commitOf(git: Git, refs: readonly string[]): string | undefined {
  for (const ref of refs) {
    const names = [`refs/heads/${ref}`, `refs/tags/${ref}`];
    if (/^[0-9a-f]{40}$/.test(ref)) names.push(ref);
    for (const name of names) {
      const found = git.ask(['rev-parse', '--verify', '--quiet', `${name}^{commit}`]);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function placeTree(git: Git, dir: string, commit: string, tree: string): void {
  mkdirSync(join(dir, 'trees'), { recursive: true, mode: 0o700 });
  dropOldTrees(join(dir, 'trees'));
  const made = mkdtempSync(join(dir, 'making-'));
  const files = join(made, 'files');
  mkdirSync(files);
  const empty = git.ask(['ls-tree', '--name-only', commit]) === '';
  const index = { GIT_INDEX_FILE: join(made, 'index') };
  if (!empty) git.run([`--work-tree=${files}`, 'checkout', '--force', commit, '--', '.'], index);
  try {
    renameSync(files, tree);
  } catch (error) {
    // Another thread was faster.
    if (!existsSync(tree)) throw error;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

function dropOldTrees(trees: string): void {
  const aged = readdirSync(trees).map((name) => {
    const path = join(trees, name);
    return { path, timeMs: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 };
  });
  const old = aged.sort((a, b) => b.timeMs - a.timeMs).slice(TREES_KEPT);
  for (const { path, timeMs } of old) {
    if (Date.now() - timeMs > TREE_AGE_MS) rmSync(path, { recursive: true, force: true });
  }
}

/** Git in one repository, without a shell, never asking anybody. */
class Git {
  readonly #dir: string;
  readonly #env: NodeJS.ProcessEnv;

  constructor(dir: string, settings: GitSettings) {
    this.#dir = dir;
    const { PATH, HOME, SSH_AUTH_SOCK } = process.env;
    const ssh = settings.privkey === '' ? '' : ` -i '${settings.privkey.replaceAll("'", '')}'`;
    const basic = Buffer.from(`${settings.user}:${settings.password}`).toString('base64');
    this.#env = {
      PATH,
      HOME,
      SSH_AUTH_SOCK,
      LC_ALL: 'C',
      GIT_DIR: dir,
      GIT_TERMINAL_PROMPT: '0',
      GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh',
      GIT_SSH_COMMAND: `ssh -o BatchMode=yes${ssh}`,
      ...(settings.sslVerify ? {} : { GIT_SSL_NO_VERIFY: '1' }),
      // By the environment: arguments are seen by everybody on the host.
      ...(settings.user === ''
        ? {}
        : {
            GIT_CONFIG_COUNT: '1',
            GIT_CONFIG_KEY_0: 'http.extraHeader',
            GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
          }),
    };
  }

  /** @throws GitPillarError */
  run(args: readonly string[], env: NodeJS.ProcessEnv = {}): string {
    const done = spawnSync('git', args, {
      cwd: this.#dir,
      env: { ...this.#env, ...env },
      timeout: TIMEOUT_MS,
      maxBuffer: MAX_OUTPUT_BYTES,
      encoding: 'utf8',
    });
    if (done.status === 0) return done.stdout.trim();
    const why = done.error?.message ?? done.stderr.trim().slice(-1000);
    throw new GitPillarError(`git ${args[0] ?? ''}: ${why}`);
  }

  /** As {@link run}; undefined where git says no. */
  ask(args: readonly string[]): string | undefined {
    try {
      return this.run(args);
    } catch (error) {
      if (error instanceof GitPillarError) return undefined;
      throw error;
    }
  }
}
