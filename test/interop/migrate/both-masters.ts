import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { livingSupervisor, readState } from '@brine/service/processes';
import type { SaltOutput, SaltSandbox, SaltVenv } from '@brine/testing';
import { brineEnv } from '@brine/testing/checkouts';
import { until } from '@brine/testing/waits';
import { expect } from 'vitest';

const COMMAND_MS = 120_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/**
 * Runs a program to its end, as Brine's commands and users' programs run on a host where a release
 * of Salt is installed: by it the event socket speaks as the tools of that release expect.
 */
export function run(
  sandbox: SaltSandbox,
  installed: SaltVenv,
  program: string,
  args: readonly string[],
): Promise<SaltOutput> {
  const all = brineEnv(sandbox);
  const env = { ...all, PATH: `${dirname(installed.bin('salt'))}:${all['PATH'] ?? ''}` };
  const options = { env, timeout: COMMAND_MS, maxBuffer: MAX_OUTPUT_BYTES };
  return new Promise((resolve, reject) => {
    execFile(program, [...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, stdout, stderr });
      else reject(new Error(`${args.join(' ')}: ${stdout}${stderr}`, { cause: error }));
    });
  });
}

/** The JSON that a command prints. */
export async function json(output: Promise<SaltOutput>): Promise<Record<string, unknown>> {
  const { stdout, stderr } = await output;
  try {
    return JSON.parse(stdout) as Record<string, unknown>;
  } catch (cause) {
    throw new Error(`no JSON: ${stdout}${stderr}`, { cause });
  }
}

/** The id of a job that a command with `--async` has started. */
export async function started(command: Promise<SaltOutput>): Promise<string> {
  const { stdout, stderr } = await command;
  const jid = /\d{20}/.exec(stdout)?.[0];
  expect(jid, `${stdout}${stderr}`).toBeDefined();
  return jid ?? '';
}

/** Stops what `--start` left in the background, if a test failed in between. */
export async function stopBrine(stateDir: string): Promise<void> {
  const living = (): number | undefined => livingSupervisor(readState(stateDir));
  const pid = living();
  if (pid === undefined) return;
  process.kill(pid, 'SIGTERM');
  await until('Brine has stopped', () => living() === undefined, { withinMs: 60_000 });
}
