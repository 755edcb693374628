import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { SaltProcess } from '@brine/testing';
import type { CommandRun } from './master.ts';

const MAX_OUTPUT_BYTES = 1024 * 1024 * 1024;
/** Longer than the stop deadline of Brine's services, which is 10 s. */
const STOP_MS = 15_000;
/** As shells say of an interrupted program. */
const EXIT_SIGNAL = 130;

/** A program to run. */
export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** Masters that run. They have process groups of their own and would outlive the benchmark. */
const running = new Set<SaltProcess>();

/** Starts a master's process and remembers it until it ends. */
export function startProcess(input: Parameters<typeof SaltProcess.start>[0]): SaltProcess {
  const started = SaltProcess.start(input);
  running.add(started);
  const forget = (): void => void running.delete(started);
  started.exited.then(forget, forget);
  return started;
}

/** Ends all masters when the benchmark is interrupted, then the benchmark itself. */
export function endWithSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      void Promise.allSettled([...running].map(endProcess)).then(() => process.exit(EXIT_SIGNAL));
    });
  }
}

/** Runs a program to its end; rejects where it does not start or takes too long. */
export function timeCommand({ program, args, env, timeoutMs }: Command): Promise<CommandRun> {
  const options = { env, timeout: timeoutMs, maxBuffer: MAX_OUTPUT_BYTES };
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    execFile(program, [...args], options, (error, stdout, stderr) => {
      const ms = performance.now() - startedAt;
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ ms, code, stdout });
      else reject(new Error(`${args.join(' ')}: ${stderr.slice(-2_000)}`, { cause: error }));
    });
  });
}

/** Ends a process with SIGTERM and time to write what it must; then whatever is left of it. */
export async function endProcess(one: SaltProcess): Promise<void> {
  if (one.pid !== undefined) {
    try {
      process.kill(one.pid, 'SIGTERM');
      await Promise.race([one.exited, sleep(STOP_MS, undefined, { ref: false })]);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
  await one.stop();
}
