import { Worker } from 'node:worker_threads';

/** How often the loop shows that it turns, in ms. */
const BEAT_MS = 500;

/**
 * A loop that has not turned for so long does not come back in time for any client, in ms. Gateways
 * give its requests to others after 1.2 s, so honest bursts of work may take longer.
 */
const STALLED_MS = 15_000;

/** It holds a counter and, once, a stack. */
const THREAD_LIMITS = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 };

/**
 * Ends this process by SIGKILL, with a line in the log, once its event loop has not turned for
 * 15 s. The supervisor then starts it again. A thread watches and counts only the time in which
 * it runs itself: a process or machine that was stopped as a whole has not stalled.
 */
export function watchLoop(service: string, stalledMs = STALLED_MS): void {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS).unref();
  const thread = new Worker(new URL('../threads/loop-watch.mjs', import.meta.url), {
    workerData: { service, beats, beatMs: BEAT_MS, stalledMs },
    resourceLimits: THREAD_LIMITS,
  });
  thread.unref();
}
