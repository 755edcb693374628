import { parseArgs } from 'node:util';
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

/** Thrown for arguments that do not fit; the message is for the user. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
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

/** Seeds are what 32 bits hold: more would be the same to the generator. */
const MAX_SEED = 2 ** 31 - 1;

/** Reads the arguments. Throws UsageError for unknown options and numbers out of their range. */
export function readArguments(args: readonly string[]): ChaosArguments {
  const values = parse(args);
  const any = Math.floor(Math.random() * MAX_SEED);
  return {
    faults: numberOf('faults', values.faults, { least: 1, most: 100_000, otherwise: 20 }),
    seed: numberOf('seed', values.seed, { least: 0, most: MAX_SEED, otherwise: any }),
    minions: numberOf('minions', values.minions, { least: 20, most: 100_000, otherwise: 100 }),
    kinds: kindsOf(values.only),
    jobs: numberOf('jobs', values.jobs, { least: 1, most: 1_000, otherwise: 3 }),
    workers: numberOf('workers', values.workers, { least: 1, most: 64, otherwise: 2 }),
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

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, strict: true }).values;
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

function numberOf(
  name: string,
  text: string | undefined,
  { least, most, otherwise }: Readonly<Record<'least' | 'most' | 'otherwise', number>>,
): number {
  if (text === undefined) return otherwise;
  const number = Number(text);
  if (!Number.isInteger(number) || number < least || number > most) {
    throw new UsageError(`--${name} is a whole number from ${least} to ${most}`);
  }
  return number;
}
