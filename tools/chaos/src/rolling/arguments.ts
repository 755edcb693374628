import { parseArgs } from 'node:util';
import { UsageError } from '../arguments.ts';

/** What was asked for. */
export interface RollingArguments {
  /** Restarts of all services. */
  readonly rounds: number;
  readonly minions: number;
  /** Real ones, of three releases in turn. */
  readonly real: number;
  /** Jobs per second. */
  readonly jobs: number;
  /** One job in so many is for all simulated minions. */
  readonly allEvery: number;
  readonly workers: number;
  /** Processes of the rig. */
  readonly processes: number;
  /** Between two restarts, in s. */
  readonly pauseS: number;
  /** Stock commands that are typed one after the other, beside each other. */
  readonly commands: number;
  /** A job waits so long for its returns, in s. */
  readonly deadlineS: number;
  readonly json: string | undefined;
  readonly keep: boolean;
}

export const ROLLING_USAGE = `npm run chaos -- --rolling <n>    n rolling restarts under load

  --minions <n>     simulated ones; deaf for 1 to 11 s after 4505 was lost (200)
  --real <n>        real ones, of 3006.26, 3007.13, 3008.2 in turn (0)
  --jobs <n>        jobs per second (5)
  --all-every <n>   one job in so many is for all simulated minions (25)
  --workers <n>     (2)
  --processes <n>   of the rig (1)
  --pause <s>       between two restarts (15)
  --commands <n>    salt commands at a time, to the real minions (1 where there are any)
  --deadline <s>    a job waits so long for its returns (45)
  --json <file>     the whole report
  --keep            keep the directory also where nothing failed
`;

const OPTIONS = {
  rolling: { type: 'string' },
  minions: { type: 'string' },
  real: { type: 'string' },
  jobs: { type: 'string' },
  'all-every': { type: 'string' },
  workers: { type: 'string' },
  processes: { type: 'string' },
  pause: { type: 'string' },
  commands: { type: 'string' },
  deadline: { type: 'string' },
  json: { type: 'string' },
  keep: { type: 'boolean' },
} as const;

/** Reads the arguments. Throws UsageError for unknown options and numbers out of their range. */
export function readRollingArguments(args: readonly string[]): RollingArguments {
  const values = parse(args);
  const number = (name: string, text: string | undefined, [least, most, otherwise]: Range) =>
    wholeNumber(name, text ?? String(otherwise), least, most);
  const real = number('real', values.real, [0, 100, 0]);
  return {
    rounds: number('rolling', values.rolling, [1, 1_000, 1]),
    minions: number('minions', values.minions, [20, 100_000, 200]),
    real,
    jobs: number('jobs', values.jobs, [1, 1_000, 5]),
    allEvery: number('all-every', values['all-every'], [1, 1_000_000, 25]),
    workers: number('workers', values.workers, [1, 64, 2]),
    processes: number('processes', values.processes, [1, 64, 1]),
    pauseS: number('pause', values.pause, [0, 3_600, 15]),
    commands: number('commands', values.commands, [0, 16, real > 0 ? 1 : 0]),
    deadlineS: number('deadline', values.deadline, [1, 3_600, 45]),
    json: values.json,
    keep: values.keep ?? false,
  };
}

type Range = readonly [least: number, most: number, otherwise: number];

/** Reads a number. Throws UsageError where it is none, or out of its range. */
export function wholeNumber(name: string, text: string, least: number, most: number): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < least || number > most) {
    throw new UsageError(`--${name} is a whole number from ${least} to ${most}`);
  }
  return number;
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, strict: true }).values;
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}
