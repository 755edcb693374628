import { parseArgs } from 'node:util';
import { LOG_LEVELS, type LogLevel } from '@brine/config';

/** The command line of a service process. */
export interface ServiceArguments {
  readonly configDir: string | undefined;
  readonly logLevel: LogLevel | undefined;
}

/** Reads `-c DIR` and `-l LEVEL`; throws a TypeError with a clear text for anything else. */
export function parseServiceArguments(argv: readonly string[]): ServiceArguments {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      'config-dir': { type: 'string', short: 'c' },
      'log-level': { type: 'string', short: 'l' },
    },
  });
  const level = values['log-level'];
  const logLevel = LOG_LEVELS.find((name) => name === level);
  if (level !== undefined && logLevel === undefined) {
    throw new TypeError(`invalid log level '${level}' (choose from ${LOG_LEVELS.join(', ')})`);
  }
  return { configDir: values['config-dir'], logLevel };
}
