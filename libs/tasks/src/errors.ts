/** The message of an error, or the text of any other value that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** True for an error that passes by itself, such as that of an unreachable server. */
export function isRetryable(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === true;
}

/**
 * Reports a failure after which the work continues. The text names what failed, for the log; the
 * error is its cause, where there is one.
 */
export type Trouble = (text: string, error?: unknown) => void;
