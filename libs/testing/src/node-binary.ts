import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withFileLock } from './salt/file-lock.ts';

const run = promisify(execFile);

/** 45 MB of package on a slow line. */
const STEP_TIMEOUT_MS = 300_000;

/** The lines of Node that Brine runs on, with the tested release of each. */
export const NODE_RELEASES = ['20.20.2', '22.23.3', '24.21.0', '26.10.0'] as const;

type NodeRelease = (typeof NODE_RELEASES)[number];

/**
 * The directory with `node` of a release, for a PATH: in `${XDG_CACHE_HOME:-~/.cache}/brine/node`,
 * from the npm package of this platform the first time. Concurrent callers wait for the first.
 * @throws Error if the registry lacks the package, or its `node` does not run here.
 */
export async function nodeBinary(release: NodeRelease): Promise<string> {
  const base = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const root = join(base, 'brine', 'node');
  const dir = join(root, release);
  if (!existsSync(dir)) {
    await mkdir(root, { recursive: true });
    await withFileLock(`${dir}.lock`, async () => {
      if (!existsSync(dir)) await fetchNode(release, root, dir);
    });
  }
  return dir;
}

async function fetchNode(release: NodeRelease, root: string, dir: string): Promise<void> {
  const made = await mkdtemp(join(root, 'fetched-'));
  const options = { cwd: made, timeout: STEP_TIMEOUT_MS };
  try {
    const name = `node-${process.platform}-${process.arch}@${release}`;
    const { stdout } = await run('npm', ['pack', name, '--silent'], options);
    // Only the program: the headers and the manual are three times as large.
    await run('tar', ['-xzf', stdout.trim(), '--strip-components=2', 'package/bin/node'], options);
    await rm(join(made, stdout.trim()));
    const { stdout: version } = await run(join(made, 'node'), ['--version']);
    if (version.trim() !== `v${release}`) throw new Error(`${name} is ${version.trim()}`);
    await rename(made, dir);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}
