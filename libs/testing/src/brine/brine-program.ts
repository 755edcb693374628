import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type SaltHome, SaltProcess, type SaltSandbox } from '../salt/index.ts';

/** The program of this checkout, for Node to run. */
export const BRINE = fileURLToPath(new URL('../../../../apps/cli/bin/brine.mjs', import.meta.url));

/** The settings of `brine master`. */
export interface SupervisorSettings {
  /** A `brine.mjs`. */
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
  readonly logLevel: string;
  readonly graceMs: number | undefined;
}

/** Starts `brine master` of a program. */
export function startSupervisor(
  { program, env, logLevel, graceMs }: SupervisorSettings,
  { configDir, logFile }: SaltHome,
): SaltProcess {
  const args = [program, 'master', '-c', configDir, '-l', logLevel];
  return SaltProcess.start({ command: process.execPath, args, env, logFile, graceMs });
}

/** A private environment that still finds installed programs: nats-server, Python. */
export function brineEnv(sandbox: SaltSandbox): Record<string, string> {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(process.env['HOME'] ?? '/root', '.cache');
  return { ...sandbox.env(), XDG_CACHE_HOME: cache };
}
