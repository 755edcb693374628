import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { commandManuals } from '../../apps/cli/src/command-line.ts';
import { completionScript } from '../../apps/cli/src/completion/scripts.ts';
import { manPages } from '../../apps/cli/src/manual/man-page.ts';

const run = promisify(execFile);

/** The release to pack. */
export interface Release {
  /** The repository, built. */
  readonly root: string;
  /** As `0.2.0`. */
  readonly version: string;
  /** The time that all files get, in s since 1970: the same sources make the same packages. */
  readonly epoch: number;
  /** As Debian writes it: `Name <address>`. */
  readonly maintainer: string;
}

/**
 * The release of a repository: its version, and the time of its last commit. `SOURCE_DATE_EPOCH`,
 * `DEBFULLNAME` and `DEBEMAIL` work as in Debian's tools.
 */
export async function releaseOf(root: string, version?: string): Promise<Release> {
  const { version: own } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string;
  };
  const { env } = process;
  const name = env['DEBFULLNAME'] ?? 'Brine maintainers';
  const address = env['DEBEMAIL'] ?? 'brine@packages.example.org';
  return {
    root,
    version: version ?? own,
    epoch: Number(env['SOURCE_DATE_EPOCH'] ?? (await lastCommit(root))),
    maintainer: `${name} <${address}>`,
  };
}

/** Without git, as in an unpacked archive, the time is 1980, because file times differ by host. */
async function lastCommit(root: string): Promise<string> {
  if (!existsSync(join(root, '.git'))) return '315532800';
  const { stdout } = await run('git', ['log', '-1', '--format=%ct'], { cwd: root });
  return stdout.trim();
}

/** A file made from the option parsers: its path below `share`, and its text. */
export interface SharedFile {
  readonly path: string;
  readonly text: string;
}

/** Manual pages and completion for three shells, from one source: the option parsers. */
export async function sharedFiles({ version, epoch }: Release): Promise<SharedFile[]> {
  const date = new Date(epoch * 1000).toISOString().slice(0, 10);
  const pages = manPages(await commandManuals(), { version, date });
  const complete = (shell: 'bash' | 'zsh' | 'fish') =>
    completionScript(shell, ['brine'], ['brine']);
  return [
    ...pages.map(({ file, text }) => ({ path: `man/man1/${file}`, text })),
    { path: 'bash-completion/completions/brine', text: complete('bash') },
    { path: 'zsh/vendor-completions/_brine', text: complete('zsh') },
    { path: 'fish/vendor_completions.d/brine.fish', text: complete('fish') },
  ];
}

/** Runs a program; a failure throws an error with its output. */
export async function runStep(
  command: string,
  args: readonly string[],
  cwd?: string,
): Promise<string> {
  const { stdout } = await run(command, [...args], {
    maxBuffer: 16 * 1024 * 1024,
    ...(cwd === undefined ? {} : { cwd }),
  });
  return stdout;
}
