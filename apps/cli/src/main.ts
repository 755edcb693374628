import { basename } from 'node:path';
import { runCommandLine } from './command-line.ts';
import { ProcessTerminal } from './terminal.ts';

const [, script = 'brine', ...args] = process.argv;
const code = await runCommandLine(basename(script), args, new ProcessTerminal());
// Sockets and timers of libraries must not keep a finished command alive.
process.exit(code);
