import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, copyFile, cp, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { withFileLock } from './salt/file-lock.ts';

const run = promisify(execFile);

/** Metadata, or packages of up to 100 MB on a slow line. */
const STEP_TIMEOUT_MS = 300_000;
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;
/** Required packages only, no recommended ones. */
const NEEDED = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'];

/** The directory that modules are copied to. */
const MODULES = 'modules';
/** The directory that programs are in which want files beside them. */
const HOME = 'home';

/** A Debian package and the wanted programs in it. */
export interface DebianPrograms<Name extends string> {
  readonly package: string;
  readonly names: readonly Name[];
  /** Names of libraries that the package depends on and most hosts lack. */
  readonly libraries?: RegExp;
  /** A directory of the package that its programs load from, by the end of its path. */
  readonly modules?: RegExp;
  /** The directory with the programs and the files that they want beside them, in the packages. */
  readonly home?: string;
  /** The option that prints a program's release; default `--version`. */
  readonly versionArgument?: string;
  /** The site that offers them, for the error. */
  readonly site: string;
  /** Makes the error, with the reason in one line. */
  readonly missing: (text: string, options: ErrorOptions) => Error;
}

/** Paths of programs, and their needs in the environment. */
export interface FoundPrograms<Name extends string> {
  readonly paths: Readonly<Record<Name, string>>;
  readonly env: Readonly<Record<string, string>>;
  /** The directory of their modules, if they do not find it by themselves. */
  readonly modules?: string;
}

/**
 * Programs that run here: those on PATH, those in `${XDG_CACHE_HOME:-~/.cache}/brine/<package>`, or
 * Debian's (or Ubuntu's) package, which is unpacked into that cache without being installed.
 * Concurrent callers wait for the first. Throws the error that `missing` makes.
 */
export async function debianPrograms<Name extends string>(
  wanted: DebianPrograms<Name>,
  env: NodeJS.ProcessEnv,
): Promise<FoundPrograms<Name>> {
  const { names } = wanted;
  const inDir = (dir: string): Record<Name, string> =>
    Object.fromEntries(names.map((name) => [name, join(dir, name)])) as Record<Name, string>;
  for (const dir of (env['PATH'] ?? '').split(delimiter)) {
    if (dir !== '' && (await hasAll(dir, names))) return { paths: inDir(dir), env: {} };
  }
  const base = env['XDG_CACHE_HOME'] ?? join(env['HOME'] ?? homedir(), '.cache');
  const dir = join(base, 'brine', wanted.package);
  const home = wanted.home === undefined ? '' : HOME;
  const programs = names.map((name) => join(home, name));
  const all = [...programs, ...(wanted.modules === undefined ? [] : [MODULES])];
  if (!(await hasAll(dir, all))) {
    await mkdir(dir, { recursive: true });
    await withFileLock(join(dir, 'install.lock'), async () => {
      if (!(await hasAll(dir, all))) await unpackPackage(wanted, dir);
    });
  }
  const modules = wanted.modules === undefined ? {} : { modules: join(dir, MODULES) };
  return { paths: inDir(join(dir, home)), env: withLibraries(dir), ...modules };
}

function withLibraries(dir: string): Record<string, string> {
  return { LD_LIBRARY_PATH: join(dir, 'lib') };
}

async function hasAll(dir: string, names: readonly string[]): Promise<boolean> {
  try {
    for (const name of names) await access(join(dir, name), constants.X_OK);
    return true;
  } catch {
    return false; // missing or not executable for this user
  }
}

async function unpackPackage(wanted: DebianPrograms<string>, dir: string): Promise<void> {
  const work = await mkdtemp(join(dir, '.install-'));
  try {
    await download(wanted, work);
    const into = join(work, 'unpacked');
    const files = await readdir(work);
    for (const file of files.filter((name) => name.endsWith('.deb'))) {
      await step('dpkg-deb', ['-x', join(work, file), into]);
    }
    await keepLibraries(into, join(dir, 'lib'));
    if (wanted.modules !== undefined) await keepModules(wanted.modules, into, dir);
    for (const name of wanted.names) {
      const places = [wanted.home ?? 'usr/bin', 'usr/sbin', 'bin'];
      const made = await firstOf(places.map((dir) => join(into, dir, name)));
      // Proves that its libraries are there: dependencies of the package were not installed.
      await step(made, [wanted.versionArgument ?? '--version'], undefined, withLibraries(dir));
      if (wanted.home !== undefined) continue;
      await copyFile(made, join(work, name));
      await rename(join(work, name), join(dir, name));
    }
    if (wanted.home !== undefined) await rename(join(into, wanted.home), join(dir, HOME));
  } catch (cause) {
    const why = (cause as Error).message.trim().split('\n').at(-1) ?? '';
    const text =
      `no ${wanted.names.join(' and ')} on PATH, and Debian's package could not be had ` +
      `(${why}); put them on PATH (${wanted.site})`;
    throw wanted.missing(text, { cause });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The host's libraries come after these, so that only the requested ones are taken from here. */
async function keepLibraries(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const name of await readdir(from, { recursive: true })) {
    const file = name.split('/').at(-1) ?? '';
    if (/^lib.*\.so(?:\.[0-9.]+)?$/.test(file)) await copyFile(join(from, name), join(to, file));
  }
}

async function keepModules(wanted: RegExp, from: string, dir: string): Promise<void> {
  const found = (await readdir(from, { recursive: true })).find((name) => wanted.test(name));
  if (found === undefined) throw new Error(`the package has no directory like ${wanted.source}`);
  await cp(join(from, found), join(dir, MODULES), { recursive: true });
}

async function firstOf(paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    try {
      await access(path, constants.X_OK);
      return path;
    } catch {
      continue; // the next place
    }
  }
  throw new Error(`the package has no ${paths.join(' and no ')}`);
}

/** Uses the host's list of packages or, if it is empty as in most images, a list of our own. */
async function download(wanted: DebianPrograms<string>, work: string): Promise<void> {
  try {
    await downloadWith([], wanted, work);
  } catch {
    const own = ['-o', `Dir::State::lists=${work}/lists`, '-o', `Dir::Cache=${work}/cache`];
    await mkdir(join(work, 'lists', 'partial'), { recursive: true });
    await mkdir(join(work, 'cache', 'archives', 'partial'), { recursive: true });
    await step('apt-get', [...own, 'update'], work);
    await downloadWith(own, wanted, work);
  }
}

async function downloadWith(
  own: readonly string[],
  { package: name, libraries }: DebianPrograms<string>,
  work: string,
): Promise<void> {
  await step('apt-get', [...own, 'download', name], work);
  if (libraries === undefined) return;
  const only = NEEDED.map((kind) => `--no-${kind}`);
  const output = await step('apt-cache', [...own, 'depends', '--recurse', ...only, name], work);
  const needed = output.split('\n').filter((line) => /^\S/.test(line) && libraries.test(line));
  if (needed.length > 0) await step('apt-get', [...own, 'download', ...needed], work);
}

async function step(
  command: string,
  args: readonly string[],
  cwd?: string,
  env?: Readonly<Record<string, string>>,
): Promise<string> {
  const { stdout } = await run(command, [...args], {
    timeout: STEP_TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env: { ...process.env, ...env } }),
  });
  return stdout;
}
