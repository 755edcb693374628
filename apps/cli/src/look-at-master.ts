import { clientInterface, type MasterOptions } from '@brine/config';
import { reach } from '@brine/master-host/request-port';
import { type LocalMaster, openLocalMaster } from './local-master.ts';
import type { Terminal } from './terminal.ts';

/**
 * The master of this host, for a command that examines a master which may be down. Each try waits
 * `timeoutMs`, and fails at once if nothing listens.
 */
export function lookAtMaster(
  options: MasterOptions,
  terminal: Terminal,
  timeoutMs: number,
): LocalMaster {
  const gateway = { host: clientInterface(options), port: options.retPort };
  return openLocalMaster(options, terminal, { timeoutMs }, (request) => ({
    request: async (body, given) => {
      const why = await reach(gateway);
      if (why !== undefined) throw new Error(`${gateway.host}:${gateway.port}: ${why}`);
      return request.request(body, given);
    },
  }));
}
