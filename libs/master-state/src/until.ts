import { setTimeout as sleep } from 'node:timers/promises';

/** Poll interval, ms. */
const LOOK_MS = 20;

/** Polls until a condition is true, at most for `timeoutMs`; resolves with its value. */
export async function until(timeoutMs: number, isSo: () => boolean): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  while (!isSo() && performance.now() < end) await sleep(LOOK_MS);
  return isSo();
}
