import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withFileLock } from './file-lock.ts';
import { findPython } from './python.ts';
import type { SaltVersion } from './recipe.ts';
import { BUILD_PACKAGES, recipeHash, RUNTIME_PACKAGES } from './recipe.ts';

const run = promisify(execFile);
const STEP_TIMEOUT_MS = 600_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
const COMPLETE = '.complete';

/** Thrown if no virtual environment can be made; the message has the reason in one line. */
export class SaltVenvError extends Error {
  override readonly name = 'SaltVenvError';
  readonly code = 'SALT_TEST_VENV';
}

/** A virtual environment with one release of Salt in it. */
export interface SaltVenv {
  readonly version: string;
  readonly dir: string;
  readonly python: string;
  /** Path of a command of Salt's, as `salt-minion`. */
  bin(name: string): string;
}

/** The settings of {@link saltVenv}. */
export interface SaltVenvOptions {
  /** Called at each step; by default it writes a line to stderr. */
  readonly onProgress?: (line: string) => void;
}

/** The directory of the virtual environments, shared by all checkouts of this user. */
export function saltCacheDir(): string {
  const base = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  return join(base, 'brine', 'salt');
}

/**
 * The virtual environment of one Salt release; made at the first call (about 30 s), found by later
 * ones. Concurrent callers, of other processes too, wait for the first.
 * @throws SaltVenvError if Python is missing or a step of the installation fails.
 */
export function saltVenv(version: SaltVersion, options: SaltVenvOptions = {}): Promise<SaltVenv> {
  return anySaltVenv(version, options);
}

/**
 * As {@link saltVenv}, for a release that may be newer than the table of releases.
 * @throws SaltVenvError also for a text that is no release
 */
export async function anySaltVenv(
  version: string,
  options: SaltVenvOptions = {},
): Promise<SaltVenv> {
  if (!/^\d{4}\.\d+$/.test(version)) throw new SaltVenvError(`no release of Salt: ${version}`);
  const say = options.onProgress ?? ((line: string) => process.stderr.write(`${line}\n`));
  const python = await findPython();
  if (python === undefined) {
    throw new SaltVenvError('real Salt needs Python 3.10, 3.11 or 3.12 with venv: none found');
  }
  const hash = recipeHash(python);
  const root = saltCacheDir();
  const dir = join(root, `${version}-${hash}`);
  const venv = describeVenv(version, dir);
  if (existsSync(join(dir, COMPLETE))) return venv;
  await mkdir(root, { recursive: true });
  const wheels = join(root, `wheels-${hash}`);
  await withFileLock(`${wheels}.lock`, () => collectWheels(python, wheels, say));
  await withFileLock(`${dir}.lock`, () => build({ python, venv, wheels, say }));
  return venv;
}

function describeVenv(version: string, dir: string): SaltVenv {
  return {
    version,
    dir,
    python: join(dir, 'bin', 'python'),
    bin: (name) => join(dir, 'bin', name),
  };
}

/** All releases share the wheels of their dependencies: fetched once, then no network is used. */
async function collectWheels(
  python: string,
  wheels: string,
  say: (line: string) => void,
): Promise<void> {
  if (existsSync(join(wheels, COMPLETE))) return;
  const started = Date.now();
  say(`salt: collecting ${RUNTIME_PACKAGES.length} Python packages`);
  const scratch = `${wheels}.venv`;
  await rm(scratch, { recursive: true, force: true });
  await rm(wheels, { recursive: true, force: true });
  await step(python, ['-m', 'venv', scratch]);
  const packages = [...BUILD_PACKAGES, ...RUNTIME_PACKAGES];
  const pip = ['-m', 'pip', '--disable-pip-version-check', 'wheel', '-q', '--prefer-binary'];
  await step(join(scratch, 'bin', 'python'), [...pip, '-w', wheels, ...packages]);
  await rm(scratch, { recursive: true, force: true });
  await writeFile(join(wheels, COMPLETE), '');
  say(`salt: packages collected in ${seconds(started)} s`);
}

interface BuildInput {
  readonly python: string;
  readonly venv: SaltVenv;
  readonly wheels: string;
  readonly say: (line: string) => void;
}

async function build({ python, venv, wheels, say }: BuildInput): Promise<void> {
  if (existsSync(join(venv.dir, COMPLETE))) return;
  const started = Date.now();
  say(`salt: installing Salt ${venv.version}`);
  await rm(venv.dir, { recursive: true, force: true });
  await step(python, ['-m', 'venv', venv.dir]);
  const pip = ['-m', 'pip', '--disable-pip-version-check', 'install', '-q'];
  const shared = ['--no-index', '--find-links', wheels, ...BUILD_PACKAGES, ...RUNTIME_PACKAGES];
  await step(venv.python, [...pip, ...shared]);
  // Without dependencies: the needed ones are there, the others are never imported by these tests.
  const salt = ['--no-deps', '--no-build-isolation', `salt==${venv.version}`];
  await step(venv.python, [...pip, ...salt]);
  await step(venv.python, [venv.bin('salt-minion'), '--version']);
  await writeFile(join(venv.dir, COMPLETE), '');
  say(`salt: Salt ${venv.version} installed in ${seconds(started)} s`);
}

function seconds(startedMs: number): string {
  return ((Date.now() - startedMs) / 1000).toFixed(1);
}

async function step(command: string, args: readonly string[]): Promise<void> {
  try {
    await run(command, [...args], {
      timeout: STEP_TIMEOUT_MS,
      maxBuffer: MAX_OUTPUT_BYTES,
      env: { ...process.env, PYTHONNOUSERSITE: '1' },
    });
  } catch (cause) {
    const { stderr } = cause as { readonly stderr?: unknown };
    const output = typeof stderr === 'string' ? stderr.trim() : '';
    const last = output.split('\n').slice(-5).join(' | ');
    throw new SaltVenvError(`${args.slice(0, 4).join(' ')} failed: ${last}`, { cause });
  }
}
