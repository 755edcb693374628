import { createLog, type Log } from '@brine/telemetry';
import type { Output } from '../output.ts';

/** The log of a command: warnings of the servers that it starts, one line each. */
export function commandLog(command: string, { err }: Pick<Output, 'err'>): Log {
  const write = (line: string): void => {
    const { msg } = JSON.parse(line) as { readonly msg?: string };
    err(`brine ${command}: ${msg ?? line.trim()}\n`);
  };
  return createLog({ service: command, level: 'warning', destination: { write } });
}
