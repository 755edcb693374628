import { runMode } from '../run-mode.ts';
import { readTreeArguments, TREE_USAGE } from './arguments.ts';
import { drawTree } from './draw-tree.ts';
import { runTree } from './run-tree.ts';

/** Faults in a tree as asked for; prints both ledgers, gives the exit code. */
export function tree(args: readonly string[]): Promise<number> {
  const mode = {
    usage: TREE_USAGE,
    read: readTreeArguments,
    run: runTree,
    draw: drawTree,
  };
  return runMode(mode, args);
}
