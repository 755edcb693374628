/** The message of an error, or the text of any other value that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether an error passes by itself, such as that of a server that is away: try again then. */
export function isRetryable(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === true;
}

/**
 * Reports a failure after which the work continues. The text names what failed, for the log; the
 * error is its cause, where there is one.
 */
export type Trouble = (text: string, error?: unknown) => void;
