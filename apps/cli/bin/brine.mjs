#!/usr/bin/env node
// The program as it lies in the repository: everything else is built into dist.
import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

// Before all else: Node's default action for this signal is to open its inspector, and every local
// user can connect to that. Services install a listener of their own later (libs/service).
process.on('SIGUSR1', () => undefined);

const commandLine = new URL('../dist/command-line.js', import.meta.url);
if (!existsSync(commandLine)) {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  process.stderr.write(`brine is not built yet. Run this first:\n  cd ${root} && npm run build\n`);
  process.exit(1);
}
// A package of Brine has no such file beside it, and runs what the compiler wrote.
const choice = new URL('../../../libs/service/dist/processes/program-of.js', import.meta.url);
let program = commandLine;
if (existsSync(choice)) {
  const { programOf } = await import(choice.href);
  const apps = fileURLToPath(new URL('../../', import.meta.url));
  program = pathToFileURL(programOf(apps, 'cli', 'command-line.js'));
}
const { runProcess } = await import(program.href);
await runProcess(process.argv);
