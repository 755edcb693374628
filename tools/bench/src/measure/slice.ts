import { setTimeout as sleep } from 'node:timers/promises';
import { type ByService, type ProcessTree, spent, total } from './process-tree.ts';

const QUIET_POLL_MS = 200;
/** Share of one core below which a master counts as at rest. */
const QUIET_SHARE = 0.12;
const QUIET_WAIT_MAX_MS = 15_000;

/** What an action cost a master. */
export interface Slice<T> {
  readonly result: T;
  readonly byService: ByService;
  readonly cpuSeconds: number;
}

/**
 * Runs an action and counts the CPU time of all of the master's processes, until the work that it
 * left behind (writing to the store) is done too.
 */
export async function measured<T>(tree: ProcessTree, act: () => Promise<T>): Promise<Slice<T>> {
  const before = await tree.cpu();
  const result = await act();
  const after = await quiet(tree);
  const byService = spent(before, after);
  return { result, byService, cpuSeconds: total(byService) };
}

/** Waits until a master is at rest, 15 s at most; gives its CPU times then. */
export async function quiet(tree: ProcessTree): Promise<ByService> {
  const until = performance.now() + QUIET_WAIT_MAX_MS;
  let before = await tree.cpu();
  for (;;) {
    const since = performance.now();
    await sleep(QUIET_POLL_MS);
    const now = await tree.cpu();
    const share = total(spent(before, now)) / ((performance.now() - since) / 1_000);
    if (share < QUIET_SHARE || performance.now() > until) return now;
    before = now;
  }
}

/** CPU per operation of each service, in µs. */
export function microsEach(byService: ByService, operations: number): ByService {
  return Object.fromEntries(
    Object.entries(byService).map(([name, seconds]) => [
      name,
      Number(((seconds * 1e6) / operations).toFixed(1)),
    ]),
  );
}
