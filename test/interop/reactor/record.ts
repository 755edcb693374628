// Fires the events of test/fixtures/reactor at a stock master and writes down what came of each:
// `npx tsx --conditions=source test/interop/reactor/record.ts [name …]`.
import { readFile, writeFile } from 'node:fs/promises';
import { format } from 'prettier';
import { type Reactions, reactorCases, RESULTS_FILE } from './reactor-cases.ts';
import { reactAtStock } from './run-stock.ts';

const only = new Set(process.argv.slice(2));
const asked = reactorCases().filter(({ name }) => only.size === 0 || only.has(name));
const known =
  only.size === 0
    ? {}
    : (JSON.parse(await readFile(RESULTS_FILE, 'utf8')) as Record<string, Reactions>);
const outcomes: Record<string, Reactions> = {};
await reactAtStock(asked, (name, reactions) => {
  outcomes[name] = reactions;
  process.stderr.write(`${name}: ${reactions.jobs.length} + ${reactions.runs.length}\n`);
}).catch((error: unknown) => {
  // What was recorded until then is kept.
  process.exitCode = 1;
  process.stderr.write(`${String(error)}\n`);
});
const all = Object.entries({ ...known, ...outcomes }).sort(([a], [b]) => (a < b ? -1 : 1));
await writeFile(
  RESULTS_FILE,
  await format(JSON.stringify(Object.fromEntries(all)), { parser: 'json', printWidth: 100 }),
);
process.stdout.write(`${all.length} outcomes in ${RESULTS_FILE}\n`);
