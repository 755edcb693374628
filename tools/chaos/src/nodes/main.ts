import { writeFile } from 'node:fs/promises';
import { NODES_USAGE, readNodesArguments } from './arguments.ts';
import { drawNodes } from './draw-nodes.ts';
import { runNodes } from './run-nodes.ts';

/** Loses nodes as asked for, prints the ledger, gives the exit code. */
export async function nodes(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(NODES_USAGE);
    return 0;
  }
  const asked = readNodesArguments(args);
  const tell = (line: string): void => void process.stdout.write(`${line}\n`);
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
  const report = await runNodes({ ...asked, tell, signal: stopping.signal });
  process.stdout.write(drawNodes(report));
  if (asked.json !== undefined) {
    await writeFile(asked.json, `${JSON.stringify(report, null, 2)}\n`);
  }
  return report.ok ? 0 : 1;
}
