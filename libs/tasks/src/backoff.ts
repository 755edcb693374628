/** Waits between tries, in ms: the first, and the longest. */
export interface BackoffRange {
  readonly firstMs: number;
  readonly longestMs: number;
}

/**
 * How long to wait for the next try, in ms, after so many failures in a row. The first wait comes
 * after one failure. Each further wait is twice the one before, up to the longest. Without failures
 * there is no wait.
 */
export function backoffMs({ firstMs, longestMs }: BackoffRange, failures: number): number {
  return failures <= 0 ? 0 : Math.min(firstMs * 2 ** (failures - 1), longestMs);
}
