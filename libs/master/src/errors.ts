/**
 * Something the master leans on (stream, hot state, job cache) is away. Thrown by the ports. The
 * peer then gets what is safe for its kind of request: nothing, `bad load`, or a text.
 */
export class MasterUnavailableError extends Error {
  override readonly name = 'MasterUnavailableError';
  readonly retryable = true;

  constructor(what: string, options?: { readonly cause?: unknown }) {
    super(what, options);
  }
}
