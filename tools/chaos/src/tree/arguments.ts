import { parseArgs } from 'node:util';
import { UsageError } from '../arguments.ts';

/** What was asked for. */
export interface TreeArguments {
  /** At least so many jobs are asked for above. */
  readonly jobs: number;
  /** Jobs per second. */
  readonly rate: number;
  readonly faults: number;
  readonly seed: number;
  /** Simulated ones, below. */
  readonly minions: number;
  /** Of each master. */
  readonly workers: number;
  readonly json: string | undefined;
  readonly keep: boolean;
}

export const TREE_USAGE = `npm run chaos -- --tree <n>    n jobs, two masters, faults between them

  --faults <n>      (40)
  --seed <n>        of the plan (any)
  --minions <n>     simulated ones, below (50)
  --rate <n>        jobs per second (4)
  --workers <n>     of each master (1)
  --json <file>     the whole report
  --keep            keep the directories also where nothing failed
`;

const OPTIONS = {
  tree: { type: 'string' },
  faults: { type: 'string' },
  seed: { type: 'string' },
  minions: { type: 'string' },
  rate: { type: 'string' },
  workers: { type: 'string' },
  json: { type: 'string' },
  keep: { type: 'boolean' },
} as const;

const MAX_SEED = 2 ** 31 - 1;

/** Reads the arguments. Throws UsageError for unknown options and numbers out of their range. */
export function readTreeArguments(args: readonly string[]): TreeArguments {
  const values = parse(args);
  const number = (name: NumberName, least: number, most: number, otherwise: number): number => {
    const found = Number(values[name] ?? otherwise);
    if (Number.isInteger(found) && found >= least && found <= most) return found;
    throw new UsageError(`--${name} is a whole number from ${least} to ${most}`);
  };
  return {
    jobs: number('tree', 1, 1_000_000, 1_000),
    rate: number('rate', 1, 1_000, 4),
    faults: number('faults', 1, 100_000, 40),
    seed: number('seed', 0, MAX_SEED, Math.floor(Math.random() * MAX_SEED)),
    minions: number('minions', 20, 100_000, 50),
    workers: number('workers', 1, 64, 1),
    json: values.json,
    keep: values.keep ?? false,
  };
}

type NumberName = 'tree' | 'faults' | 'seed' | 'minions' | 'rate' | 'workers';

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, strict: true }).values;
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}
