import type { SaltMap, SaltValue } from '@brine/wire';
import type { MasterPorts } from '../ports/ports.ts';

/**
 * `_master_tops`: states by environment that the master names beside the top file. The minion's
 * own options, which it sends along, are not believed: they could name another minion.
 */
export async function masterTops(ports: MasterPorts, minion: string): Promise<SaltMap> {
  const states = await ports.tops.of(minion);
  return new Map([...states].map(([env, sls]): [SaltValue, SaltValue] => [env, [...sls]]));
}
