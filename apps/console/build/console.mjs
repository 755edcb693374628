// Builds the pages of the console: `apps/console/dist/site/`.
// Plain JavaScript, as `tools/ready.mjs` runs it. It looks first: nothing is made twice.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const CONSOLE = fileURLToPath(new URL('../', import.meta.url));
/** Written by each build. */
const BUILT = join(CONSOLE, 'dist', 'site', 'index.html');
const MADE_OF = ['src', 'build', 'index.html', 'vite.config.ts', 'package.json'];

/** Builds the pages if something of them has changed. `say` gets a line for people. */
export async function buildConsole(say = () => undefined) {
  const builtAt = timeOf(BUILT);
  const files = [...MADE_OF.flatMap((name) => filesOf(join(CONSOLE, name)))];
  if (![...files, join(ROOT, 'package-lock.json')].some((path) => timeOf(path) > builtAt)) return;
  const { build } = await import('vite');
  await build({ root: CONSOLE, logLevel: 'warn' });
  say('built the console');
}

function filesOf(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path).flatMap((name) => filesOf(join(path, name)));
}

/** When a file changed last, ms of the epoch; 0 for none. */
function timeOf(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildConsole((text) => process.stderr.write(`${text}\n`));
}
