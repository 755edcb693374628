import { parseArgs } from 'node:util';
import { numberOf, UsageError } from './arguments.ts';

/** What `npm run soak` was asked for. */
export interface SoakArguments {
  readonly minutes: number;
  readonly minions: number;
  /** File that gets one JSON line per sample. */
  readonly samples: string | undefined;
  readonly help: boolean;
}

export const SOAK_USAGE = `npm run soak -- [options]    mixed jobs at a Brine master, and what grows

  --minutes <n>     (60)
  --minions <n>     (2000)
  --samples <file>  one JSON line per minute
  --help
`;

/**
 * Reads the arguments.
 * @throws UsageError for unknown options and numbers out of their range.
 */
export function readSoakArguments(args: readonly string[]): SoakArguments {
  const { values } = parse(args);
  return {
    minutes: numberOf('minutes', values.minutes, { least: 1, most: 20_160, otherwise: 60 }),
    minions: numberOf('minions', values.minions, { least: 1, most: 100_000, otherwise: 2_000 }),
    samples: values.samples,
    help: values.help ?? false,
  };
}

function parse(args: readonly string[]) {
  const options = {
    minutes: { type: 'string' },
    minions: { type: 'string' },
    samples: { type: 'string' },
    help: { type: 'boolean' },
  } as const;
  try {
    return parseArgs({ args: [...args], options, strict: true });
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}
