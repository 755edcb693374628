import { useCallback, useEffect, useRef } from 'react';

/** How soon what a stream can not count is asked for again: the job cache stores it by then, ms. */
export const UNCOUNTED_MS = 2_000;

/** Calls a function once, `ms` after the first of the calls that came meanwhile. */
export function useSoon(call: () => void, ms: number): () => void {
  const latest = useRef(call);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    latest.current = call;
  });
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      timer.current = undefined;
    },
    [],
  );
  return useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      latest.current();
    }, ms);
  }, [ms]);
}
