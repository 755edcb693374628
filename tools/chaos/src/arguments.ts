import { MAX_SEED, readOptions, UsageError, wholeNumber } from '@brine/swarm';
import { FAULT_KINDS, type FaultKind } from './plan.ts';

/** What a run was asked for. */
export interface ChaosArguments {
  readonly faults: number;
  readonly seed: number;
  readonly minions: number;
  readonly kinds: readonly FaultKind[];
  /** Jobs per second. */
  readonly jobs: number;
  readonly workers: number;
  /** A plan to do again. */
  readonly replay: string | undefined;
  /** File that gets the report. */
  readonly json: string | undefined;
  readonly keep: boolean;
  readonly help: boolean;
}

export const USAGE = `npm run chaos -- [options]    random faults at a master under load

  --faults <n>      (20)
  --seed <n>        of the plan; the same seed is the same plan (any)
  --minions <n>     simulated ones (100)
  --only <kind,…>   of ${FAULT_KINDS.join(', ')}
  --jobs <n>        jobs per second (3)
  --workers <n>     (2)
  --replay <file>   the plan.json that a run has kept, once more
  --json <file>     the whole report
  --keep            keep the directory also where nothing failed
  --help

npm run chaos -- --rolling <n>    rolling restarts under load: see --rolling --help
npm run chaos -- --nodes <n>      nodes of NATS and PostgreSQL are lost: see --nodes --help
npm run chaos -- --tree <n>       faults between two masters: see --tree --help
npm run chaos -- --staging        faults at the master of this host: see --staging --help
`;

const OPTIONS = {
  faults: { type: 'string' },
  seed: { type: 'string' },
  minions: { type: 'string' },
  only: { type: 'string' },
  jobs: { type: 'string' },
  workers: { type: 'string' },
  replay: { type: 'string' },
  json: { type: 'string' },
  keep: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/** Reads the arguments. Throws UsageError for unknown options and numbers out of their range. */
export function readArguments(args: readonly string[]): ChaosArguments {
  const { values } = readOptions(args, OPTIONS);
  const any = Math.floor(Math.random() * MAX_SEED);
  return {
    faults: wholeNumber('faults', values.faults, [1, 100_000, 20]),
    seed: wholeNumber('seed', values.seed, [0, MAX_SEED, any]),
    minions: wholeNumber('minions', values.minions, [20, 100_000, 100]),
    kinds: kindsOf(values.only),
    jobs: wholeNumber('jobs', values.jobs, [1, 1_000, 3]),
    workers: wholeNumber('workers', values.workers, [1, 64, 2]),
    replay: values.replay,
    json: values.json,
    keep: values.keep ?? false,
    help: values.help ?? false,
  };
}

/** The kinds of `--only`; all of them without it. Throws UsageError for a name that is none. */
export function kindsOf(only: string | undefined): readonly FaultKind[] {
  if (only === undefined) return FAULT_KINDS;
  return only.split(',').map((name) => {
    const kind = FAULT_KINDS.find((one) => one === name);
    if (kind === undefined) {
      throw new UsageError(`no such fault: ${name} (there are ${FAULT_KINDS.join(', ')})`);
    }
    return kind;
  });
}
