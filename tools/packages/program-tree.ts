// Lays out the program as it runs on a host: built code, dependencies, and Node.js.
import { existsSync, readdirSync } from 'node:fs';
import { chmod, copyFile, cp, lstat, mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { LINK_NAMES } from '../../apps/cli/src/link-names.ts';
import { type Closure, closureOf, type Lock } from './closure.ts';
import { natsProgram, nodeProgram } from './programs.ts';

/** Folders of our packages that are read at run time. */
export const RUN_FOLDERS: readonly string[] = ['bin', 'dist', 'native', 'python', 'sql', 'threads'];
/** Folders of our packages that are not. */
export const BUILD_FOLDERS: readonly string[] = [
  'bench',
  'build',
  'fixtures',
  'hosts',
  'node_modules',
  'src',
  'test',
];

/** Directory of links with Salt's names of commands, for PATH. */
export const SALT_COMMANDS = 'salt-commands';

/** A program tree, with data for a list of licences. */
export interface ProgramTree {
  readonly dir: string;
  readonly closure: Closure;
  readonly lock: Lock;
  readonly node: { readonly release: string; readonly licence: string };
}

/**
 * Lays the program into a directory.
 * @param root the repository, built.
 * @throws Error if a part is not built or not installed
 */
export async function layProgram(root: string, dir: string): Promise<ProgramTree> {
  const { packages: lock } = JSON.parse(
    await readFile(join(root, 'package-lock.json'), 'utf8'),
  ) as { packages: Lock };
  const apps = readdirSync(join(root, 'apps')).map((name) => `apps/${name}`);
  const closure = closureOf(lock, apps, (path) => existsSync(join(root, path)));
  for (const path of closure.workspaces) {
    if (!existsSync(join(root, path, 'dist'))) {
      throw new Error(`${path} is not built: npm run build`);
    }
    for (const name of ['package.json', ...RUN_FOLDERS]) {
      await copyNeeded(join(root, path, name), join(dir, path, name));
    }
    const { name } = JSON.parse(await readFile(join(root, path, 'package.json'), 'utf8')) as {
      name: string;
    };
    const link = join(dir, 'node_modules', name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(relative(dirname(link), join(dir, path)), link);
  }
  for (const path of closure.modules) {
    if (!existsSync(join(root, path))) throw new Error(`${path} is not installed: npm ci`);
    await copyNeeded(join(root, path), join(dir, path));
  }
  const node = await nodeProgram();
  const bin = join(dir, 'bin');
  await mkdir(bin);
  await copyFile(node.program, join(bin, 'node'));
  await copyFile(await natsProgram(), join(bin, 'nats-server'));
  await copyFile(join(root, 'packaging', 'bin', 'brine'), join(bin, 'brine'));
  await mkdir(join(dir, SALT_COMMANDS));
  for (const name of LINK_NAMES.keys()) {
    await symlink('../bin/brine', join(dir, SALT_COMMANDS, name));
  }
  await setModes(dir);
  return { dir, closure, lock, node };
}

const PLATFORM = join(process.platform, process.arch);

/** Copies run-time files. Nested packages are copied separately. */
async function copyNeeded(from: string, to: string): Promise<void> {
  if (!existsSync(from)) return;
  await cp(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => isNeeded(relative(from, path), from),
  });
}

/**
 * True for a file or folder that runs, or is a licence.
 * @param path below the package; empty for the package itself.
 * @param of the package.
 */
export function isNeeded(path: string, of: string): boolean {
  if (path === '') return true;
  const name = basename(path);
  if (name === 'node_modules') return false;
  if (of.endsWith('/native')) return path === 'dist' || path === 'dist/crypticle.node';
  if (of.endsWith('/zeromq') && path.startsWith('build/')) {
    const [, platform = '', arch = PLATFORM.split('/')[1]] = path.split('/');
    if (name === 'manifest.json') return true;
    return `${platform}/${arch}` === PLATFORM && !name.startsWith('musl-');
  }
  if (/^(licen[cs]e|copying|notice)/i.test(name)) return true;
  // Files for compilers, editors, tests and readers of sources.
  if (of.includes('node_modules/') && (NOT_RUN.test(path) || /^\.|\.html$/.test(name))) {
    return false;
  }
  return !/\.([cm]?ts|map|tsbuildinfo|md|a|h|cc|gypi?|bash|cmd|sh)$/.test(name);
}

/** Files of other packages that do not run; `pgxs` builds extensions of PostgreSQL. */
const NOT_RUN =
  /^(tests?|test\.js|benchmarks?|docs|examples|script)$|^native\/lib\/postgresql\/pgxs$/;

/** Makes only programs executable: npm packages set this bit on many other files. */
async function setModes(dir: string): Promise<void> {
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) continue;
    const isProgram =
      entry.parentPath === join(dir, 'bin') || /native\/bin$/.test(entry.parentPath);
    await chmod(path, entry.isDirectory() || isProgram ? 0o755 : 0o644);
  }
  await chmod(dir, 0o755);
}

/** The size of a directory's files, in bytes. */
export async function sizeOf(dir: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await lstat(join(entry.parentPath, entry.name))).size;
  }
  return bytes;
}
