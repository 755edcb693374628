import { readOptions, wholeNumber } from '@brine/swarm';

/** What was asked for. */
export interface NodesArguments {
  /** How often each node is lost. */
  readonly rounds: number;
  readonly minions: number;
  /** Jobs per second; one in ten is for all minions. */
  readonly jobs: number;
  readonly workers: number;
  /** How long a node stays away, in s. */
  readonly awayS: number;
  readonly json: string | undefined;
  readonly keep: boolean;
}

export const NODES_USAGE = `npm run chaos -- --nodes <n>    each node is lost n times, under load

  Three NATS servers with R3 streams, a PostgreSQL primary with a synchronous standby, a master.
  --minions <n>     simulated ones (200)
  --jobs <n>        jobs per second (5)
  --workers <n>     (2)
  --away <s>        a node of NATS stays away so long (5)
  --json <file>     the whole report
  --keep            keep the directory also where nothing failed
`;

const OPTIONS = {
  nodes: { type: 'string' },
  minions: { type: 'string' },
  jobs: { type: 'string' },
  workers: { type: 'string' },
  away: { type: 'string' },
  json: { type: 'string' },
  keep: { type: 'boolean' },
} as const;

/** Reads the arguments. Throws UsageError for unknown options and numbers out of their range. */
export function readNodesArguments(args: readonly string[]): NodesArguments {
  const { values } = readOptions(args, OPTIONS);
  return {
    rounds: wholeNumber('nodes', values.nodes, [1, 1_000, 1]),
    minions: wholeNumber('minions', values.minions, [20, 100_000, 200]),
    jobs: wholeNumber('jobs', values.jobs, [1, 1_000, 5]),
    workers: wholeNumber('workers', values.workers, [1, 64, 2]),
    awayS: wholeNumber('away', values.away, [0, 3_600, 5]),
    json: values.json,
    keep: values.keep ?? false,
  };
}
