import { useSyncExternalStore } from 'react';

/** All times on the page move on together, at this interval, ms. */
const STEP_MS = 1_000;

const watchers = new Set<() => void>();
let nowMs = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function watch(changed: () => void): () => void {
  watchers.add(changed);
  timer ??= setInterval(() => {
    nowMs = Date.now();
    for (const each of watchers) each();
  }, STEP_MS);
  return () => {
    watchers.delete(changed);
    if (watchers.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time, ms of the epoch; it moves on once a second. */
export function useNow(): number {
  return useSyncExternalStore(watch, () => nowMs);
}
