import type { Write } from './archive-writer.ts';

/** A monotonic clock in ms, and a wait on it. */
export interface Clock {
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<unknown>;
}

/** Shorter pauses accumulate until they reach this, in ms: timers are no finer. */
const LEAST_MS = 20;

/**
 * Limits writes to a number of bytes per second, so that a backup leaves disk and network to the
 * master. Unused capacity does not accumulate.
 */
export function steady(bytesPerSecond: number, write: Write, clock: Clock): Write {
  let freeAt = clock.now();
  return async (bytes) => {
    await write(bytes);
    const now = clock.now();
    freeAt = Math.max(freeAt, now - LEAST_MS) + (bytes.length / bytesPerSecond) * 1_000;
    if (freeAt - now >= LEAST_MS) await clock.wait(freeAt - now);
  };
}
