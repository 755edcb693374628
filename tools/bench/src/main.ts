// `npm run bench`: Brine beside the stock master; see ../README.md.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BenchArguments, readArguments, USAGE, UsageError } from './arguments.ts';
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
/** Salt's and sysexits' EX_USAGE. */
const EXIT_USAGE = 64;

endWithSignals();
process.exitCode = await main(process.argv.slice(2));

async function main(words: readonly string[]): Promise<number> {
  const rows = ALL_ROWS.map(({ name }) => name);
  let args: BenchArguments;
  try {
    args = readArguments(words, rows);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return EXIT_USAGE;
  }
  switch (args.mode) {
    case 'help':
      process.stdout.write(USAGE.replace('ROWS', rows.join(', ')));
      return 0;
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
    sliceSeconds: args.sliceSeconds,
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
