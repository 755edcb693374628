// `npm run bench`: Brine beside the stock master; see ../README.md.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runTool } from '@brine/swarm/options';
import { type BenchArguments, readArguments, usageFor } from './arguments.ts';
import { endWithSignals } from './masters/commands.ts';
import { STOCK_NAMES } from './masters/master.ts';
import { installedStock } from './masters/stock.ts';
import { runMicro } from './micro.ts';
import { compare } from './quick/compare.ts';
import { prove } from './quick/prove.ts';
import { drawReport, replaceTable, type Report } from './report/report.ts';
import { drawTable } from './report/table.ts';
import { ALL_ROWS } from './rows/all-rows.ts';
import { chooseRows, runRows } from './run-rows.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** The document that shows the last full table. */
const DOCUMENT = 'docs/internals/measurements.md';

const ROWS = ALL_ROWS.map(({ name }) => name);

endWithSignals();
await runTool({ name: 'bench', usage: usageFor(ROWS), run: main });

async function main(words: readonly string[]): Promise<number> {
  const args = readArguments(words, ROWS);
  switch (args.mode) {
    case 'micro':
      return runMicro(ROOT);
    case 'document':
      return renewDocument(args.json ?? '');
    case 'quick':
      return args.prove > 0 ? prove(ROOT, args, say) : compare(ROOT, args, say);
    case 'full':
      return runTable(args, words);
  }
}

async function runTable(args: BenchArguments, words: readonly string[]): Promise<number> {
  const stock = await installedStock(args.brineOnly ? [] : STOCK_NAMES, say);
  const context = {
    installed: { checkout: ROOT, stock },
    pairs: args.pairs,
    sliceSeconds: args.slice,
    minionsMax: args.minions ?? Number.POSITIVE_INFINITY,
    say,
  };
  const command = ['npm run bench', ...(words.length > 0 ? ['--', ...words] : [])].join(' ');
  const keep = async (soFar: Report): Promise<void> => {
    if (args.json !== undefined) await writeFile(args.json, `${JSON.stringify(soFar, null, 1)}\n`);
  };
  const report = await runRows(chooseRows(ALL_ROWS, args.only), args, context, command, keep);
  process.stdout.write(args.markdown ? `${drawTable(report.figures)}\n` : drawReport(report));
  return report.failures.length === 0 ? 0 : 1;
}

async function renewDocument(json: string): Promise<number> {
  const report = JSON.parse(await readFile(json, 'utf8')) as Report;
  const path = join(ROOT, DOCUMENT);
  await writeFile(path, replaceTable(await readFile(path, 'utf8'), report));
  say(`${DOCUMENT} renewed`);
  return 0;
}

/** Progress goes to standard error: the table alone is the output. */
function say(line: string): void {
  process.stderr.write(`bench: ${line}\n`);
}
