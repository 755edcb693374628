import type { Write } from './archive-writer.ts';

/** A clock that runs on, in ms, and waits by it. */
export interface Clock {
  readonly now: () => number;
  readonly wait: (ms: number) => Promise<unknown>;
}

/** A pause shorter than this is saved up, in ms: timers are no finer. */
const LEAST_MS = 20;

/**
 * Writes no faster than so many bytes a second, so that a backup leaves disk and network to the
 * master. What was not used is not saved up.
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
