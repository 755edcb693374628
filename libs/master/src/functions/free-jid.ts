import type { Jid } from '@brine/job';
import type { MasterPorts } from '../ports/ports.ts';

/** Tries before the store of job ids counts as broken: all of these ids were taken. */
const TRIES_MAX = 100;

/**
 * Reserves a new job id for the caller, in the whole cluster; undefined if all that were tried are
 * taken.
 * @throws MasterUnavailableError while the hot state is unreachable
 */
export async function freeJid(
  ports: Pick<MasterPorts, 'nextJid' | 'publications'>,
): Promise<Jid | undefined> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const jid = ports.nextJid();
    if (await ports.publications.reserve(jid)) return jid;
  }
  return undefined;
}
