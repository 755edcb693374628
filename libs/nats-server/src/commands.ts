import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { operatorEnvironment } from '@brine/environment';
import { startAsOwner } from '@brine/files';

/** The result of a command. */
export interface CommandResult {
  readonly ok: boolean;
  /** The end of its output, from both streams. */
  readonly output: string;
}

const OUTPUT_MAX = 8_000;

/**
 * Runs a command that finds or installs a server to its end, for `timeoutMs` at most. A missing
 * command is a failure. It gets the indexes and caches that the operator names.
 */
export function runCommand(
  file: string,
  args: readonly string[],
  options: { readonly timeoutMs: number; readonly env?: NodeJS.ProcessEnv; readonly cwd?: string },
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = startAsOwner((as) =>
      spawn(file, [...args], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: operatorEnvironment(options.env ?? process.env),
        timeout: options.timeoutMs,
        killSignal: 'SIGKILL',
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
        ...as,
      }),
    );
    let output = '';
    const keep = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(-OUTPUT_MAX);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', (error) => resolve({ ok: false, output: error.message }));
    child.on('close', (code) => resolve({ ok: code === 0, output }));
  });
}

/** The first executable of that name on PATH. */
export async function findOnPath(
  name: string,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  for (const dir of (env['PATH'] ?? '').split(delimiter)) {
    if (dir === '') continue;
    const path = join(dir, process.platform === 'win32' ? `${name}.exe` : name);
    if (await isExecutable(path)) return path;
  }
  return undefined;
}

/** True if a file is there and may be run. */
export async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false; // missing or not executable for this user
  }
}
