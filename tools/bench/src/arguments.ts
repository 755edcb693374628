import { decimal, drawOptions, flag, type Given, names } from '@brine/swarm/options';
import { readOptions, text, UsageError, whole } from '@brine/swarm/options';
import { STOCK_NAMES } from './masters/master.ts';

const MODES = ['document', 'micro', 'quick'] as const;

function optionsFor(rows: readonly string[]) {
  return {
    only: names('<row,…>', 'these rows:', rows, []),
    brineOnly: flag('without the stock masters'),
    pairs: whole('<n>', 'alternating pairs per ratio', [1, 100, 10]),
    slice: decimal('<seconds>', 'load per sample', [0.2, 60, 2]),
    minions: whole('<n>', 'largest fleet; the size where a row has one', [1, 100_000]),
    minutes: decimal('<n>', 'begin no row after this time', [0.1, 1_440, 45]),
    json: text('<file>', 'every sample, with commit and machine'),
    markdown: flag('the table alone'),
    document: flag('put the report of --json into docs/internals/measurements.md'),
    micro: flag('sealing, decoding, target matching, batching'),
    quick: flag('this checkout against --base: CPU per return; exit 1 when slower'),
    base: text('<commit|directory>', 'of --quick (HEAD, or HEAD~1 where nothing is changed)'),
    threshold: decimal('<percent>', 'of --quick: slowdown that must be proven', [0, 100, 5]),
    plant: decimal('<percent>', 'burn so much more CPU per return in this checkout', [0, 1_000, 0]),
    prove: whole('<n>', 'n runs with and n without a plant, both sides this checkout', [0, 100, 0]),
  };
}

/** What `npm run bench` was asked for. */
export interface BenchArguments extends Given<ReturnType<typeof optionsFor>> {
  readonly mode: 'full' | (typeof MODES)[number];
}

/** The help page, with the names of all rows. */
export function usageFor(rows: readonly string[]): string {
  return `npm run bench -- [options]

Brine beside stock masters: ${STOCK_NAMES.join(', ')}

${drawOptions(optionsFor(rows))}`;
}

/** Reads the arguments. Throws UsageError where they do not fit. */
export function readArguments(args: readonly string[], rows: readonly string[]): BenchArguments {
  const asked = readOptions(args, optionsFor(rows));
  const chosen = MODES.filter((name) => asked[name]);
  const [mode = 'full'] = chosen;
  if (chosen.length > 1) {
    throw new UsageError(`choose one of ${chosen.map((name) => `--${name}`).join(', ')}`);
  }
  if (mode === 'document' && asked.json === undefined) {
    throw new UsageError('--document needs --json <file> of a run');
  }
  return { ...asked, mode };
}
