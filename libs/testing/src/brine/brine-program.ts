import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type SaltHome, SaltProcess, type SaltSandbox } from '../salt/index.ts';

/** The program of this checkout, for Node to run. */
export const BRINE = fileURLToPath(new URL('../../../../apps/cli/bin/brine.mjs', import.meta.url));

/** Starts `brine master` of a program. */
export function startSupervisor(
  program: string,
  home: SaltHome,
  env: Readonly<Record<string, string>>,
  logLevel: string,
): SaltProcess {
  const args = [program, 'master', '-c', home.configDir, '-l', logLevel];
  return SaltProcess.start({ command: process.execPath, args, env, logFile: home.logFile });
}

/** A private environment that still finds what was installed once: nats-server, Python. */
export function brineEnv(sandbox: SaltSandbox): Record<string, string> {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(process.env['HOME'] ?? '/root', '.cache');
  return { ...sandbox.env(), XDG_CACHE_HOME: cache };
}
