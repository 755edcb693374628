import { execFile, type ExecFileException } from 'node:child_process';

/** The result of a program. */
export interface ProgramRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Wall time in ms. */
  readonly ms: number;
}

/** The settings of a run. */
interface RunSettings {
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Its name in errors, default the arguments. */
  readonly name?: readonly string[];
}

const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;
/** Characters from the end of each stream in the report. */
const SHOWN_CHARS = 4_000;

/** Runs a program to its end. @throws Error if it does not start or is ended by a signal. */
export function runProgram(
  program: string,
  args: readonly string[],
  { env, timeoutMs, name = args }: RunSettings,
): Promise<ProgramRun> {
  const options = { env, timeout: timeoutMs, maxBuffer: MAX_OUTPUT_BYTES };
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    execFile(program, [...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      const ms = performance.now() - startedAt;
      if (typeof code === 'number') resolve({ code, stdout, stderr, ms });
      else reject(cutShort(name, error, { stdout, stderr, ms }));
    });
  });
}

/**
 * Describes a command that was killed, usually by its time limit. If it had printed its answer by
 * then, it only did not end; otherwise it waited in vain.
 */
function cutShort(
  command: readonly string[],
  error: ExecFileException | null,
  { stdout, stderr, ms }: Omit<ProgramRun, 'code'>,
): Error {
  const how = String(error?.signal ?? error?.code ?? 'without a reason');
  const first = `${command.join(' ')}: ended by ${how} after ${Math.round(ms)} ms`;
  const lines = [first, endOf('stdout', stdout), endOf('stderr', stderr)];
  return new Error(lines.join('\n'), { cause: error });
}

function endOf(name: string, text: string): string {
  if (text === '') return `${name}: nothing`;
  return `${name}, ${text.length} characters:\n${text.slice(-SHOWN_CHARS)}`;
}
