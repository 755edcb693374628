import { isUtf8 } from 'node:buffer';
import { spawn } from 'node:child_process';
import { operatorEnvironment } from '@brine/environment';
import { ExecutionError } from '../functions/minion-function.ts';

/** A command for the shell. */
export interface Command {
  readonly command: string;
  readonly cwd?: string;
  readonly shell: string;
  /** True: only the variables of `env`. */
  readonly clean: boolean;
  /** Added to those of the minion. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  /** Seconds; the command is ended after this. */
  readonly timeoutS?: number;
  /** Joins both outputs in one stream, in the order of writing. */
  readonly merge: boolean;
}

/** The result of a command. */
export interface CommandResult {
  readonly pid: number;
  readonly retcode: number;
  readonly stdout: string | Uint8Array;
  readonly stderr: string | Uint8Array;
}

// A larger return would be refused on its way.
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
// Shells give 128 + the signal's number; the usual ones by name.
const SIGNAL_NUMBERS: Readonly<Record<string, number>> = { SIGKILL: 9, SIGTERM: 15, SIGSEGV: 11 };

/**
 * Runs a command to its end. Output other than UTF-8 is returned as bytes.
 * @throws ExecutionError if it can not be started or writes more than 64 MiB
 */
export function runCommand(command: Command): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    // `2>&1` in the shell keeps the order in which the command wrote to the two.
    const script = command.merge ? `exec 2>&1\n${command.command}` : command.command;
    const child = spawn(command.shell, ['-c', script], {
      ...(command.cwd === undefined ? {} : { cwd: command.cwd }),
      env: operatorEnvironment(command.clean ? {} : process.env, command.env),
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const end = (): void => endGroup(child.pid);
    const output = { stdout: new Output(end), stderr: new Output(end) };
    child.stdout.on('data', (chunk: Buffer) => output.stdout.add(chunk));
    child.stderr.on('data', (chunk: Buffer) => output.stderr.add(chunk));
    child.stdin.on('error', () => undefined); // the command may ignore its input
    child.stdin.end(command.stdin ?? '');
    let timedOut = false;
    const timer =
      command.timeoutS === undefined
        ? undefined
        : setTimeout(() => {
            timedOut = true;
            end();
          }, command.timeoutS * 1000);
    child.once('error', (cause) => {
      clearTimeout(timer);
      const text = `Unable to run command '${command.command}': ${cause.message}`;
      reject(new ExecutionError(text, { cause }));
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (output.stdout.overflown || output.stderr.overflown) {
        reject(new ExecutionError('the command wrote more than 64 MiB'));
        return;
      }
      const pid = child.pid ?? 0;
      if (timedOut) {
        const text = `'${command.command}' : Timed out after ${command.timeoutS} seconds`;
        resolve({ pid, retcode: 1, stdout: text, stderr: '' });
        return;
      }
      const retcode = code ?? -(SIGNAL_NUMBERS[signal ?? ''] ?? 1);
      resolve({ pid, retcode, stdout: output.stdout.value(), stderr: output.stderr.value() });
    });
  });
}

class Output {
  overflown = false;
  readonly #chunks: Buffer[] = [];
  readonly #end: () => void;
  #bytes = 0;

  constructor(end: () => void) {
    this.#end = end;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= MAX_OUTPUT_BYTES) this.#chunks.push(chunk);
    else if (!this.overflown) {
      this.overflown = true;
      this.#end();
    }
  }

  /** Without trailing white space, as in Salt. */
  value(): string | Uint8Array {
    const bytes = Buffer.concat(this.#chunks);
    if (isUtf8(bytes)) return bytes.toString('utf8').trimEnd();
    let length = bytes.length;
    while (length > 0 && isSpace(bytes[length - 1] ?? 0)) length -= 1;
    return bytes.subarray(0, length);
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // The process has ended meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
