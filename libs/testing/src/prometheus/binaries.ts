import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, copyFile, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { withFileLock } from '../salt/file-lock.ts';

const run = promisify(execFile);

/** Metadata and 19 MB of package on a slow line. */
const STEP_TIMEOUT_MS = 300_000;
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/** A Debian package and the programs in it that are wanted. */
interface DebianPrograms<Name extends string> {
  readonly package: string;
  readonly names: readonly Name[];
  /** Where else one gets them. */
  readonly site: string;
}

const PROMETHEUS: DebianPrograms<'prometheus' | 'promtool'> = {
  package: 'prometheus',
  names: ['prometheus', 'promtool'],
  site: 'https://prometheus.io/download',
};

const POSTGRES_EXPORTER: DebianPrograms<'prometheus-postgres-exporter'> = {
  package: 'prometheus-postgres-exporter',
  names: ['prometheus-postgres-exporter'],
  site: 'https://github.com/prometheus-community/postgres_exporter',
};

/** Thrown where there is no Prometheus and none can be had; the message says why in one line. */
export class PrometheusMissingError extends Error {
  override readonly name = 'PrometheusMissingError';
  readonly code = 'TEST_PROMETHEUS';
}

/** Paths of the two programs of a Prometheus. */
export type PrometheusBinaries = Readonly<Record<'prometheus' | 'promtool', string>>;

/**
 * A Prometheus that runs here: the one on PATH, the one in
 * `${XDG_CACHE_HOME:-~/.cache}/brine/prometheus`, or Debian's (or Ubuntu's) package, which is
 * unpacked into that cache without being installed. Concurrent callers wait for the one that does
 * it. It is not built from source: that takes minutes and a Node for its web pages.
 * @throws PrometheusMissingError
 */
export function prometheusBinaries(
  env: NodeJS.ProcessEnv = process.env,
): Promise<PrometheusBinaries> {
  return programs(PROMETHEUS, env);
}

/**
 * The path of postgres_exporter under its Debian name, found as {@link prometheusBinaries}.
 * @throws PrometheusMissingError
 */
export async function postgresExporter(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  return (await programs(POSTGRES_EXPORTER, env))['prometheus-postgres-exporter'];
}

async function programs<Name extends string>(
  wanted: DebianPrograms<Name>,
  env: NodeJS.ProcessEnv,
): Promise<Readonly<Record<Name, string>>> {
  const { names } = wanted;
  const inDir = (dir: string): Record<Name, string> =>
    Object.fromEntries(names.map((name) => [name, join(dir, name)])) as Record<Name, string>;
  for (const dir of (env['PATH'] ?? '').split(delimiter)) {
    if (dir !== '' && (await hasAll(dir, names))) return inDir(dir);
  }
  const base = env['XDG_CACHE_HOME'] ?? join(env['HOME'] ?? homedir(), '.cache');
  const dir = join(base, 'brine', wanted.package);
  if (await hasAll(dir, names)) return inDir(dir);
  await mkdir(dir, { recursive: true });
  await withFileLock(join(dir, 'install.lock'), async () => {
    if (!(await hasAll(dir, names))) await unpackPackage(wanted, dir);
  });
  return inDir(dir);
}

async function hasAll(dir: string, names: readonly string[]): Promise<boolean> {
  try {
    for (const name of names) await access(join(dir, name), constants.X_OK);
    return true;
  } catch {
    return false; // not there, or not for us: both mean no
  }
}

async function unpackPackage(wanted: DebianPrograms<string>, dir: string): Promise<void> {
  const work = await mkdtemp(join(dir, '.install-'));
  try {
    await download(wanted.package, work);
    const file = (await readdir(work)).find((name) => name.endsWith('.deb'));
    if (file === undefined) throw new Error('apt-get left no package');
    const into = join(work, 'unpacked');
    await step('dpkg-deb', ['-x', join(work, file), into]);
    for (const name of wanted.names) {
      const made = join(into, 'usr', 'bin', name);
      // Shows that its libraries are there: the package was not installed with what it depends on.
      await step(made, ['--version']);
      await copyFile(made, join(work, name));
      await rename(join(work, name), join(dir, name));
    }
  } catch (cause) {
    const why = (cause as Error).message.trim().split('\n').at(-1) ?? '';
    const text =
      `no ${wanted.names.join(' and ')} on PATH, and Debian's package could not be had ` +
      `(${why}); put them on PATH (${wanted.site})`;
    throw new PrometheusMissingError(text, { cause });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** With the host's list of packages; where it is empty, as in most images, with one of our own. */
async function download(name: string, work: string): Promise<void> {
  try {
    await step('apt-get', ['download', name], work);
  } catch {
    const own = ['-o', `Dir::State::lists=${work}/lists`, '-o', `Dir::Cache=${work}/cache`];
    await mkdir(join(work, 'lists', 'partial'), { recursive: true });
    await mkdir(join(work, 'cache', 'archives', 'partial'), { recursive: true });
    await step('apt-get', [...own, 'update'], work);
    await step('apt-get', [...own, 'download', name], work);
  }
}

async function step(command: string, args: readonly string[], cwd?: string): Promise<void> {
  await run(command, [...args], {
    timeout: STEP_TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
    ...(cwd === undefined ? {} : { cwd }),
  });
}
