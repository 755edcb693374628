import type { MasterOptions } from '@brine/config';

/**
 * The options that a command reads to wait and to print. A closed list: none of them is a secret,
 * and each user of the master's host may read them there.
 */
export function commandOptions(options: MasterOptions): Readonly<Record<string, unknown>> {
  const { exitCodes, progress } = options.brine;
  return {
    ...pick(options, [
      'id',
      'confFile',
      'timeout',
      'gatherJobTimeout',
      'orderMasters',
      'syndicWait',
      'extJobCache',
      'showJid',
      'cliSummary',
      'batchSafeLimit',
      'batchSafeSize',
      'output',
      'color',
      'stateOutput',
      'stateVerbose',
      'stateOutputDiff',
      'stateOutputProfile',
      'stateOutputPct',
      'stateCompressIds',
      'stateTabular',
      'stateOutputExclude',
      'stateOutputTerse',
    ]),
    brine: { exitCodes, progress },
  };
}

function pick(options: MasterOptions, names: readonly (keyof MasterOptions)[]) {
  return Object.fromEntries(names.map((name) => [name, options[name]]));
}
