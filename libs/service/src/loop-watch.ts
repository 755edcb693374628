import { Worker } from 'node:worker_threads';
import type { Environment } from '@brine/environment';

/** How often the event loop signals that it turns, in ms. */
const BEAT_MS = 500;

/**
 * A loop that has not turned for this long is too late for any client, in ms: a minion waits 5 s.
 * With reading its stack and the start of the next process, a hung service is replaced within 10 s.
 */
const STALLED_MS = 5_000;

/** The file descriptor on which the supervisor asks for the stack, by `ServiceProcess`. */
const STACKS_VARIABLE = 'BRINE_STACKS_FD';

/** The thread needs a counter and, once, a stack. */
const THREAD_LIMITS = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 };

/**
 * Ends this process by SIGKILL, with a line in the log, once its event loop has not turned for 5 s.
 * The supervisor then starts it again. A thread watches. It counts only the time in which it runs
 * itself and the loop has a CPU: a stopped process, or a machine that is too busy, has not stalled.
 * The same thread sends the supervisor the main thread's stack, also while the loop is blocked.
 * @param env of the start of this process, with the descriptor for the stack
 */
export function watchLoop(service: string, env: Environment, stalledMs = STALLED_MS): void {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS).unref();
  const thread = new Worker(new URL('../threads/loop-watch.mjs', import.meta.url), {
    workerData: { service, beats, beatMs: BEAT_MS, stalledMs, stacksFd: stacksFd(env) },
    resourceLimits: THREAD_LIMITS,
  });
  thread.unref();
}

function stacksFd(env: Environment): number | undefined {
  const fd = env[STACKS_VARIABLE];
  return fd === undefined || fd === '' ? undefined : Number(fd);
}
