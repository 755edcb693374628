import type { ExecFileException } from 'node:child_process';

/** What is known of a command that ended without an exit code. */
interface CutShort {
  readonly error: ExecFileException | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

/** Characters of the end of each stream that the report shows. */
const TOLD_CHARS = 4_000;

/**
 * Describes a command that was killed, usually by its time limit. If it had printed its answer by
 * then, it only did not end; otherwise it waited in vain.
 */
export function cutShort(
  command: readonly string[],
  { error, stdout, stderr, ms }: CutShort,
): Error {
  const how = String(error?.signal ?? error?.code ?? 'without a word');
  const first = `${command.join(' ')}: ended by ${how} after ${Math.round(ms)} ms`;
  const lines = [first, told('stdout', stdout), told('stderr', stderr)];
  return new Error(lines.join('\n'), { cause: error });
}

function told(name: string, text: string): string {
  if (text === '') return `${name}: nothing`;
  return `${name}, ${text.length} characters:\n${text.slice(-TOLD_CHARS)}`;
}
