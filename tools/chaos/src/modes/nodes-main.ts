import { drawNodes } from './draw-nodes.ts';
import { runNodes } from './nodes.ts';
import { NODES_USAGE, readNodesArguments } from './nodes-arguments.ts';
import { runMode } from './run-mode.ts';

/** Loses nodes as asked for, prints the ledger, gives the exit code. */
export function nodes(args: readonly string[]): Promise<number> {
  const mode = {
    usage: NODES_USAGE,
    read: readNodesArguments,
    run: runNodes,
    draw: drawNodes,
  };
  return runMode(mode, args);
}
