import { openLocalMaster } from './local-master.ts';
import { lookAtMaster } from './look-at-master.ts';
import { readMasterConfig } from './master-config.ts';
import type { ApiCodes, ApiOption, MasterPlace } from './master-place.ts';
import type { ParsedOptions } from './options/command-form.ts';
import type { Terminal } from './terminal.ts';

/**
 * Finds the master of a command. With an API it also logs in, and asks for the master's options.
 * @throws Exit with one of `codes` if the API can not be used; as {@link readMasterConfig}
 */
export async function findMaster(
  options: ParsedOptions,
  terminal: Terminal,
  api: ApiOption | undefined,
  codes: ApiCodes,
): Promise<MasterPlace> {
  const isApi = api !== undefined && (api.isAsked || !options.given.has('config_dir'));
  if (isApi) {
    const { placeBehindApi } = await import('./api/place-behind-api.ts');
    return placeBehindApi(options, terminal, api.url, codes);
  }
  const config = readMasterConfig(options, terminal);
  return {
    config,
    api: undefined,
    open: ({ events: _events, ...how } = {}) => openLocalMaster(config, terminal, how),
    look: (timeoutMs) => lookAtMaster(config, terminal, timeoutMs),
  };
}
