import { writeFile } from 'node:fs/promises';
import { readTreeArguments, TREE_USAGE } from './arguments.ts';
import { drawTree } from './draw-tree.ts';
import { runTree } from './run-tree.ts';

/** Runs faults in a tree as asked for, prints both ledgers, gives the exit code. */
export async function tree(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(TREE_USAGE);
    return 0;
  }
  const asked = readTreeArguments(args);
  const tell = (line: string): void => void process.stdout.write(`${line}\n`);
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
  const report = await runTree({ ...asked, tell, signal: stopping.signal });
  process.stdout.write(drawTree(report));
  if (asked.json !== undefined) {
    await writeFile(asked.json, `${JSON.stringify(report, null, 2)}\n`);
  }
  return report.ok ? 0 : 1;
}
