import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { debianPrograms } from '../debian-programs.ts';
import { withFileLock } from '../salt/file-lock.ts';

const run = promisify(execFile);

/** The largest tree, with lintian, is 120 MB of packages. */
const MAKE_TIMEOUT_MS = 900_000;
const UNPACK_TIMEOUT_MS = 300_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** Thrown if this host can not be or make another one; the message names the missing part. */
export class HostLacksError extends Error {
  override readonly name = 'HostLacksError';
  readonly code = 'TEST_HOST';
}

/** A minimal Debian and further packages. */
export interface DebianTree {
  readonly suite: 'bookworm' | 'trixie';
  readonly packages: readonly string[];
}

/**
 * A Debian as a tar archive, made of packages; in `${XDG_CACHE_HOME:-~/.cache}/brine/debian-trees`.
 * `BRINE_DEBIAN_MIRROR` names another mirror than deb.debian.org. Concurrent callers wait for the
 * first.
 * @throws HostLacksError for an ordinary user, and if mmdebstrap or a mirror is unavailable
 */
export async function debianTree(wanted: DebianTree): Promise<string> {
  if (process.getuid?.() !== 0) throw new HostLacksError('a tree of Debian packages needs root');
  const base = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const root = join(base, 'brine', 'debian-trees');
  // own-host.ts unmounts the former root with it.
  const packages = [...new Set([...wanted.packages, 'mount'])].sort();
  const hash = createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 12);
  const path = join(root, `${wanted.suite}-${hash}.tar`);
  if (existsSync(path)) return path;
  await mkdir(root, { recursive: true });
  await withFileLock(`${path}.lock`, async () => {
    if (!existsSync(path)) await make(wanted.suite, packages, path);
  });
  return path;
}

async function make(suite: string, packages: readonly string[], path: string): Promise<void> {
  const { paths } = await debianPrograms(
    {
      package: 'mmdebstrap',
      names: ['mmdebstrap'],
      site: 'https://packages.debian.org/mmdebstrap',
      missing: (text, more) => new HostLacksError(text, more),
    },
    process.env,
  );
  const mirror = process.env['BRINE_DEBIAN_MIRROR'] ?? 'http://deb.debian.org/debian';
  const part = `${path}.part`;
  try {
    await run(
      paths.mmdebstrap,
      [
        ...['--mode=root', '--variant=minbase', '--format=tar', '--quiet'],
        `--include=${packages.join(',')}`,
        ...['--aptopt=Acquire::Retries "3"', suite, part, mirror],
      ],
      { timeout: MAKE_TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES },
    );
    await rename(part, path);
  } catch (cause) {
    const { stderr } = cause as { readonly stderr?: unknown };
    const output =
      typeof stderr === 'string' ? stderr.trim().split('\n').slice(-3).join(' | ') : '';
    const text = `no tree of Debian ${suite} could be made of packages of ${mirror}: ${output}`;
    throw new HostLacksError(text, { cause });
  } finally {
    await rm(part, { force: true });
  }
}

/** Unpacks a tree into a directory, with owners and modes. */
export async function unpackTree(tar: string, dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o755 });
  const args = ['--numeric-owner', '--xattrs', '--xattrs-include=*', '-C', dir, '-xpf', tar];
  await run('tar', args, { timeout: UNPACK_TIMEOUT_MS });
}
