#!/usr/bin/env node
// The program as it lies in the repository: everything else is built into dist.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// Before all else: without a listener Node opens its inspector at this signal, and every local user
// can speak to it. What runs for long tells of it (libs/service).
process.on('SIGUSR1', () => undefined);

const main = new URL('../dist/main.js', import.meta.url);
if (!existsSync(main)) {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  process.stderr.write(`brine is not built yet. Run this first:\n  cd ${root} && npm run build\n`);
  process.exit(1);
}
await import(main.href);
