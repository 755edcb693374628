/**
 * Thrown by the ports when a service that the master needs (stream, hot state, job cache) is
 * unreachable. The peer then gets the safe answer for its kind of request: nothing, `bad load`, or
 * a text.
 */
export class MasterUnavailableError extends Error {
  override readonly name = 'MasterUnavailableError';
  readonly retryable = true;

  constructor(what: string, options?: { readonly cause?: unknown }) {
    super(what, options);
  }
}

/** A call was handed over before: its job id has or had a run. */
export class RunIsKnownError extends Error {
  override readonly name = 'RunIsKnownError';
}
