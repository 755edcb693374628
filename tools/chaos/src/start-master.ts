import { loadMasterConfig } from '@brine/config';
import { BrineMaster } from '@brine/testing';
import { Installation } from './installation.ts';
import type { Run } from './run.ts';

/** Starts a master that ends with the run; its logs stay if the run's files do. */
export async function startMaster(
  { onEnd }: Run,
  ...[config, options]: Parameters<typeof BrineMaster.start>
): Promise<BrineMaster> {
  const master = await BrineMaster.start(config, options);
  onEnd(async (keep) => {
    const kept = keep ? master.sandbox.keepLogs() : undefined;
    await master.close();
    return kept;
  });
  return master;
}

/** The installation of a master, for the checks. */
export function installationOf({ configDir }: BrineMaster['home']): Installation {
  return new Installation(loadMasterConfig({ configDir, env: {} }).options);
}
