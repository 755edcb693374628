import { writeFile } from 'node:fs/promises';
import { readRollingArguments, ROLLING_USAGE } from './arguments.ts';
import { drawRolling } from './draw-rolling.ts';
import { runRolling } from './run-rolling.ts';

/** Runs rolling restarts as asked for, prints the ledger, gives the exit code. */
export async function rolling(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(ROLLING_USAGE);
    return 0;
  }
  const asked = readRollingArguments(args);
  const tell = (line: string): void => void process.stdout.write(`${line}\n`);
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
  const report = await runRolling({ ...asked, tell, signal: stopping.signal });
  process.stdout.write(drawRolling(report));
  if (asked.json !== undefined) {
    await writeFile(asked.json, `${JSON.stringify(report, null, 2)}\n`);
  }
  return report.ok ? 0 : 1;
}
