import { setTimeout as sleep } from 'node:timers/promises';

/** How often it is looked, ms. */
const LOOK_MS = 20;

/** Waits until something in this process is so, at most for `timeoutMs`; whether it is. */
export async function until(timeoutMs: number, isSo: () => boolean): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  while (!isSo() && performance.now() < end) await sleep(LOOK_MS);
  return isSo();
}
