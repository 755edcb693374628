/** Longest wait that a timer of Node takes; a longer one would end at once. */
export const TIMER_MAX_MS = 2 ** 31 - 1;

/**
 * Waits so many ms, or until the signal is aborted; never rejects. A longer wait than a timer takes
 * ends after {@link TIMER_MAX_MS}.
 * @param options with `ref: false` the process may end meanwhile
 * @returns true when the time has passed, false when the signal came first
 */
export function sleepUnless(
  ms: number,
  signal: AbortSignal | undefined,
  { ref = true }: { readonly ref?: boolean } = {},
): Promise<boolean> {
  if (signal?.aborted === true) return Promise.resolve(false);
  return new Promise((resolve) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', onAbort);
        resolve(true);
      },
      Math.min(ms, TIMER_MAX_MS),
    );
    if (!ref) timer.unref();
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
