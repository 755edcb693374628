import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { resolveNatsServer } from '@brine/nats-server';

const run = promisify(execFile);

/** Enough for a package of 45 MB on a slow line. */
const STEP_TIMEOUT_MS = 300_000;

/** The Node.js in packages: the newest line of the tests. */
const NODE_RELEASE = '26.10.0';

/** npm packages `node-linux-*` of that release by integrity: only reviewed bytes are packed. */
const NODE_PACKAGES: Readonly<Record<string, string>> = {
  'linux-x64':
    'sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==',
  'linux-arm64':
    'sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==',
};

/** Node.js for packages. */
export interface NodeProgram {
  readonly release: string;
  readonly program: string;
  readonly licence: string;
}

/**
 * Node.js for this platform, in `${XDG_CACHE_HOME:-~/.cache}/brine/packaged-node`; fetched once.
 * @throws Error if the platform has none, or the registry sends other bytes
 */
export async function nodeProgram(): Promise<NodeProgram> {
  const platform = `${process.platform}-${process.arch}`;
  const integrity = NODE_PACKAGES[platform];
  if (integrity === undefined) {
    const known = Object.keys(NODE_PACKAGES).join(', ');
    throw new Error(`packages are made for ${known}; this is ${platform}`);
  }
  const base = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  const root = join(base, 'brine', 'packaged-node');
  const dir = join(root, `${NODE_RELEASE}-${platform}`);
  if (!existsSync(dir)) await fetchNode(`node-${platform}@${NODE_RELEASE}`, integrity, root, dir);
  return { release: NODE_RELEASE, program: join(dir, 'node'), licence: join(dir, 'LICENSE') };
}

async function fetchNode(name: string, integrity: string, root: string, dir: string) {
  await mkdir(root, { recursive: true });
  const made = await mkdtemp(join(root, 'fetched-'));
  const options = { cwd: made, timeout: STEP_TIMEOUT_MS };
  try {
    const { stdout } = await run('npm', ['pack', name, '--silent'], options);
    const file = stdout.trim();
    const hash = createHash('sha512').update(await readFile(join(made, file)));
    const got = `sha512-${hash.digest('base64')}`;
    if (got !== integrity) throw new Error(`${name} has ${got}, and not ${integrity}`);
    await run('tar', ['-xzf', file, '--strip-components=1', 'package/LICENSE'], options);
    await run('tar', ['-xzf', file, '--strip-components=2', 'package/bin/node'], options);
    await rm(join(made, file));
    // Another build may have written the same bytes meanwhile.
    if (!existsSync(dir)) await rename(made, dir);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}

/** The nats-server in Brine's pinned release, not the host's. */
export function natsProgram(): Promise<string> {
  const path = (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((dir) => !existsSync(join(dir, 'nats-server')))
    .join(delimiter);
  return resolveNatsServer({ env: { ...process.env, PATH: path } });
}
