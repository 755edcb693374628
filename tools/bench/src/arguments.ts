import { parseArgs } from 'node:util';
import { STOCK_NAMES } from './masters/master.ts';

/** What `npm run bench` was asked for. */
export interface BenchArguments {
  readonly mode: 'full' | 'quick' | 'micro' | 'document' | 'help';
  /** Rows to run; empty for all of the table. */
  readonly only: readonly string[];
  /** Masters beside Brine. */
  readonly brineOnly: boolean;
  readonly json: string | undefined;
  readonly markdown: boolean;
  /** Alternating pairs per ratio. */
  readonly pairs: number;
  /** Length of one slice of load. */
  readonly sliceSeconds: number;
  /** Minutes after which no further row begins. */
  readonly minutes: number;
  /** Simulated minions where a row has one size; otherwise sizes above it are left out. */
  readonly minions: number | undefined;
  /** Commit or checkout that `--quick` compares with. */
  readonly base: string;
  /** Extra CPU per return that `--quick` plants, in percent. */
  readonly plant: number;
  /** Runs with and without the plant, to prove `--quick` itself; 0 for none. */
  readonly prove: number;
  /** Slowdown, in percent, that `--quick` must prove to fail. */
  readonly threshold: number;
}

/** Thrown for arguments that do not fit; the message is for the user. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const USAGE = `npm run bench -- [options]

Brine beside stock masters: ${STOCK_NAMES.join(', ')}

  --only <row,…>       these rows: ROWS
  --brine-only         without the stock masters
  --pairs <n>          alternating pairs per ratio (10)
  --slice <seconds>    load per sample (2)
  --minions <n>        largest fleet
  --minutes <n>        begin no row after this time (45)
  --json <file>        every sample, with commit and machine
  --markdown           the table alone
  --document           put the report of --json into docs/internals/measurements.md
  --micro              sealing, decoding, target matching, batching
  --quick              this checkout against --base: CPU per return; exit 1 when slower
      --base <commit|directory>  (HEAD, or HEAD~1 where nothing is changed)
      --threshold <percent>      slowdown that must be proven (5)
      --plant <percent>          burn so much more CPU per return in this checkout
      --prove <n>                n runs with and n without a plant of 15 %, both sides this checkout
  --help
`;

const OPTIONS = {
  only: { type: 'string' },
  'brine-only': { type: 'boolean' },
  pairs: { type: 'string' },
  slice: { type: 'string' },
  minions: { type: 'string' },
  minutes: { type: 'string' },
  json: { type: 'string' },
  markdown: { type: 'boolean' },
  document: { type: 'boolean' },
  micro: { type: 'boolean' },
  quick: { type: 'boolean' },
  base: { type: 'string' },
  threshold: { type: 'string' },
  plant: { type: 'string' },
  prove: { type: 'string' },
  help: { type: 'boolean' },
} as const;

/**
 * Reads the arguments.
 * @throws UsageError for unknown options, unknown rows, and numbers out of their range.
 */
export function readArguments(args: readonly string[], rows: readonly string[]): BenchArguments {
  const { values } = parse(args);
  const chosen = (['help', 'document', 'micro', 'quick'] as const).filter((name) => values[name]);
  const [mode = 'full'] = chosen;
  if (chosen.length > 1 && mode !== 'help') throw new UsageError(`choose one of ${listed(chosen)}`);
  const only = (values.only ?? '').split(',').filter((name) => name !== '');
  const unknown = only.filter((name) => !rows.includes(name));
  if (unknown.length > 0) {
    throw new UsageError(`no row ${unknown.join(', ')}; there are ${rows.join(', ')}`);
  }
  if (mode === 'document' && values.json === undefined) {
    throw new UsageError('--document needs --json <file> of a run');
  }
  return {
    mode,
    only,
    brineOnly: values['brine-only'] ?? false,
    json: values.json,
    markdown: values.markdown ?? false,
    pairs: numberOf('pairs', values.pairs, { least: 1, most: 100, otherwise: 10 }),
    sliceSeconds: numberOf('slice', values.slice, { least: 0.2, most: 60, otherwise: 2 }),
    minutes: numberOf('minutes', values.minutes, { least: 0.1, most: 1_440, otherwise: 45 }),
    minions:
      values.minions === undefined
        ? undefined
        : numberOf('minions', values.minions, { least: 1, most: 100_000, otherwise: 0 }),
    base: values.base ?? '',
    plant: numberOf('plant', values.plant, { least: 0, most: 1_000, otherwise: 0 }),
    prove: numberOf('prove', values.prove, { least: 0, most: 100, otherwise: 0 }),
    threshold: numberOf('threshold', values.threshold, { least: 0, most: 100, otherwise: 5 }),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, strict: true });
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

/** A number of an option, within its range. */
export function numberOf(
  name: string,
  text: string | undefined,
  range: { readonly least: number; readonly most: number; readonly otherwise: number },
): number {
  if (text === undefined) return range.otherwise;
  const value = Number(text);
  if (text.trim() === '' || !(value >= range.least && value <= range.most)) {
    throw new UsageError(`--${name} is a number from ${range.least} to ${range.most}, not ${text}`);
  }
  return value;
}

function listed(names: readonly string[]): string {
  return names.map((name) => `--${name}`).join(', ');
}
