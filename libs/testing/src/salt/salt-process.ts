import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 50;
// A stock minion whose master is gone may ignore SIGTERM (seen on 3008.2).
const TERM_GRACE_MS = 4_000;
const KILL_GRACE_MS = 5_000;

/** A long-running process of Salt's, in a process group of its own. */
export class SaltProcess {
  /** All running ones: they have process groups of their own, and outlive this process. */
  static readonly running = new Set<SaltProcess>();
  readonly #child: ChildProcess;
  readonly #graceMs: number;
  readonly #exited: Promise<number | null>;
  readonly logFile: string;
  #stopping: Promise<void> | undefined;
  /** It ended, and no child of its own was left in its group. */
  #isGroupGone = false;

  private constructor(child: ChildProcess, logFile: string, graceMs: number) {
    this.#child = child;
    this.#graceMs = graceMs;
    this.logFile = logFile;
    this.#exited = new Promise((resolve, reject) => {
      child.once('exit', (code) => {
        // Its number may be another process's by the time this one is stopped.
        this.#isGroupGone = child.pid === undefined || !signalGroup(child.pid, 0);
        resolve(code);
      });
      child.once('error', reject);
    });
    SaltProcess.running.add(this);
    const forget = (): void => void SaltProcess.running.delete(this);
    this.#exited.then(forget, forget); // `exited` reports an error
  }

  /** Starts a command; its output goes to `logFile`. */
  static start(input: {
    readonly command: string;
    readonly args: readonly string[];
    readonly env: Readonly<Record<string, string>>;
    readonly logFile: string;
    /** From SIGTERM to SIGKILL, default 4 s. */
    readonly graceMs?: number | undefined;
  }): SaltProcess {
    const child = spawn(input.command, [...input.args], {
      env: input.env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const log = createWriteStream(input.logFile, { flags: 'a' });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    child.once('close', () => log.end());
    return new SaltProcess(child, input.logFile, input.graceMs ?? TERM_GRACE_MS);
  }

  /** Process id; also the id of its process group. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Resolves with the exit code; null if a signal ended the process. */
  get exited(): Promise<number | null> {
    return this.#exited;
  }

  /** The output and log of the process so far. */
  async log(): Promise<string> {
    return readFile(this.logFile, 'utf8').catch(() => '');
  }

  /**
   * Waits for a line in the log.
   * @throws Error when the process ends first or the time is up; the message has the log's end.
   */
  async waitForLog(pattern: RegExp, timeoutMs: number): Promise<void> {
    const giveUpAt = Date.now() + timeoutMs;
    let end: string | undefined;
    const ended = (): void => {
      const { exitCode, signalCode } = this.#child;
      end = `the process ended (${signalCode ?? `exit ${exitCode}`})`;
    };
    void this.#exited.then(ended, ended);
    for (;;) {
      const text = await this.log();
      if (pattern.test(text)) return;
      if (end !== undefined || Date.now() > giveUpAt) {
        const why = end ?? `${timeoutMs} ms passed`;
        throw new Error(`${pattern} not logged, ${why}:\n${text.slice(-3_000)}`);
      }
      await sleep(POLL_MS);
    }
  }

  /** Ends the process and its children: SIGTERM, after a grace SIGKILL. Safe to call twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop(true);
    return this.#stopping;
  }

  /** As {@link stop}, without the grace. */
  kill(): Promise<void> {
    this.#stopping ??= this.#stop(false);
    return this.#stopping;
  }

  async #stop(grace: boolean): Promise<void> {
    const pid = this.#child.pid;
    if (pid === undefined || this.#isGroupGone) return;
    if (grace && this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill('SIGTERM');
      await Promise.race([this.#exited, sleep(this.#graceMs, undefined, { ref: false })]);
    }
    // Children outlive a Salt daemon that was killed or left them behind, so end the group.
    if (!this.#isGroupGone) signalGroup(pid, 'SIGKILL');
    await Promise.race([this.#exited, sleep(KILL_GRACE_MS, undefined, { ref: false })]);
  }

  /** As {@link stop}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** False if there is no such group. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}
