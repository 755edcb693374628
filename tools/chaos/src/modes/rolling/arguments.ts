import { readOptions, wholeNumber } from '@brine/swarm';

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
  /** How often minions and the client send what is not answered. */
  readonly sends: number;
  /** Another release, between which and this one each restart changes. */
  readonly from: string | undefined;
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
  --sends <n>       of what is not answered, by minions and the client; 3 as stock, which a starved
                    machine makes too few (3)
  --from <commit|directory>  begin with its build; each restart changes to the other one, so two
                    upgrade and go back ("release": the last release of the history)
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
  sends: { type: 'string' },
  from: { type: 'string' },
  json: { type: 'string' },
  keep: { type: 'boolean' },
} as const;

/** Reads the arguments. Throws UsageError for unknown options and numbers out of their range. */
export function readRollingArguments(args: readonly string[]): RollingArguments {
  const { values } = readOptions(args, OPTIONS);
  const real = wholeNumber('real', values.real, [0, 100, 0]);
  return {
    rounds: wholeNumber('rolling', values.rolling, [1, 1_000, 1]),
    minions: wholeNumber('minions', values.minions, [20, 100_000, 200]),
    real,
    jobs: wholeNumber('jobs', values.jobs, [1, 1_000, 5]),
    allEvery: wholeNumber('all-every', values['all-every'], [1, 1_000_000, 25]),
    workers: wholeNumber('workers', values.workers, [1, 64, 2]),
    processes: wholeNumber('processes', values.processes, [1, 64, 1]),
    pauseS: wholeNumber('pause', values.pause, [0, 3_600, 15]),
    commands: wholeNumber('commands', values.commands, [0, 16, real > 0 ? 1 : 0]),
    deadlineS: wholeNumber('deadline', values.deadline, [1, 3_600, 45]),
    sends: wholeNumber('sends', values.sends, [1, 100, 3]),
    from: values.from,
    json: values.json,
    keep: values.keep ?? false,
  };
}
