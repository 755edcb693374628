import { basename } from 'node:path';
import { runCommandLine } from './command-line.ts';
import { ProcessTerminal } from './terminal.ts';

const [, script = 'brine', ...args] = process.argv;
const terminal = new ProcessTerminal();
const code = await runCommandLine(basename(script), args, terminal);
// A pipe takes what it can at once and the rest later: leaving before would cut a large return.
await terminal.flush();
// Sockets and timers of libraries must not keep a finished command alive.
process.exit(code);
