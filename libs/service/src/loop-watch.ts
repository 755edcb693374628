import { Worker } from 'node:worker_threads';
import type { Environment } from '@brine/environment';

/** How often the loop shows that it turns, in ms. */
const BEAT_MS = 500;

/**
 * A loop that has not turned for so long does not come back in time for any client, in ms: a minion
 * waits 5 s. With the look at its stack and the start of the next process a hung service is
 * replaced within 10 s.
 */
const STALLED_MS = 5_000;

/** Where the supervisor asks for the stack: the number of a file, by `ServiceProcess`. */
const STACKS_VARIABLE = 'BRINE_STACKS_FD';

/** It holds a counter and, once, a stack. */
const THREAD_LIMITS = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 };

/**
 * Ends this process by SIGKILL, with a line in the log, once its event loop has not turned for
 * 5 s. The supervisor then starts it again. A thread watches and counts only the time in which
 * it runs itself, and in which the loop has a CPU: a process that was stopped, or a machine that is
 * too busy, has not stalled. The same thread tells the supervisor where this process is, also while
 * its loop is blocked.
 * @param env of the start of this process: it says where to tell that
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
