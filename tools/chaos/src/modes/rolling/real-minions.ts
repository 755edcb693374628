import { type BrineMaster, saltVenv } from '@brine/testing';

/** Releases of real minions and of the commands, in turn. */
export const RELEASES = ['3006.26', '3007.13', '3008.2'] as const;
/** Prefix of the ids of real minions. */
export const REAL_PREFIX = 'real-';

const READY_MS = 240_000;

/**
 * Starts real minions of several releases, with Salt's own reconnect times, and waits until each
 * answers; returns their ids. They end with the master's sandbox.
 */
export async function startRealMinions(
  master: BrineMaster,
  count: number,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let number = 1; number <= count; number += 1) {
    const venv = await saltVenv(RELEASES[number % RELEASES.length] ?? RELEASES[0]);
    const id = `${REAL_PREFIX}${number}`;
    const config = { recon_default: 1_000, recon_max: 10_000 };
    const home = await master.sandbox.minion(id, master.home.retPort, config);
    // A debug log of each publication would take the CPU that the commands need.
    master.sandbox.startMinion(venv, home, { logLevel: 'warning' });
    ids.push(id);
  }
  if (count === 0) return ids;
  await master.acceptKeys(ids, READY_MS);
  await master.waitForMinions(ids, READY_MS);
  return ids;
}
