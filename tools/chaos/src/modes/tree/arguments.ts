import { MAX_SEED, readOptions, wholeNumber } from '@brine/swarm';

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

/** Reads the arguments. Throws UsageError for unknown options and numbers out of their range. */
export function readTreeArguments(args: readonly string[]): TreeArguments {
  const { values } = readOptions(args, OPTIONS);
  const any = Math.floor(Math.random() * MAX_SEED);
  return {
    jobs: wholeNumber('tree', values.tree, [1, 1_000_000, 1_000]),
    rate: wholeNumber('rate', values.rate, [1, 1_000, 4]),
    faults: wholeNumber('faults', values.faults, [1, 100_000, 40]),
    seed: wholeNumber('seed', values.seed, [0, MAX_SEED, any]),
    minions: wholeNumber('minions', values.minions, [20, 100_000, 50]),
    workers: wholeNumber('workers', values.workers, [1, 64, 1]),
    json: values.json,
    keep: values.keep ?? false,
  };
}
