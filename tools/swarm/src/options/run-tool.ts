import { UsageError } from './option.ts';

/** Salt's exit codes (salt/defaults/exitcodes.py): EX_GENERIC, EX_USAGE. */
const EXIT = { failed: 1, usage: 64 } as const;

/** A program of this repository. */
export interface Tool {
  readonly name: string;
  readonly usage: string;
  /** Returns the exit code; throws UsageError for invalid arguments. */
  readonly run: (args: readonly string[]) => Promise<number> | number;
}

/** Runs a tool with the arguments of this process, and leaves its exit code. */
export async function runTool({ name, usage, run }: Tool): Promise<void> {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) return void process.stdout.write(usage);
  try {
    process.exitCode = await run(args);
  } catch (error) {
    const isUsage = error instanceof UsageError;
    const { message, stack = message } = error as Error;
    process.stderr.write(`${name}: ${isUsage ? `${message}\n\n${usage}` : `${stack}\n`}`);
    process.exitCode = isUsage ? EXIT.usage : EXIT.failed;
  }
}
