import { runMinionProcess } from './start.ts';

process.exit(await runMinionProcess(process.argv.slice(2), process.env));
