/** Every condition this library reports, as a stable code. */
export const BUS_CODES = {
  BUS_UNREACHABLE: { retryable: true },
  BUS_EXPOSED: { retryable: false },
  BUS_NO_CERTIFICATE: { retryable: false },
  BUS_SERVER_TOO_OLD: { retryable: false },
  BUS_CLOSED: { retryable: false },
  BUS_TIMEOUT: { retryable: true },
  BUS_NO_ANSWER: { retryable: true },
  BUS_STREAM_AWAY: { retryable: true },
  BUS_STREAM_FULL: { retryable: true },
  BUS_CONFLICT: { retryable: false },
  BUS_REFUSED: { retryable: false },
  BUS_FORBIDDEN: { retryable: false },
  BUS_BUSY: { retryable: true },
  BUS_BODY_GONE: { retryable: false },
  BUS_BODY_TOO_LARGE: { retryable: false },
  BUS_BAD_MESSAGE: { retryable: false },
  BUS_BAD_KEY: { retryable: false },
  BUS_QUERY_FAILED: { retryable: false },
  BUS_QUERY_AWAY: { retryable: true },
  BUS_SERVER_MISSING: { retryable: false },
  BUS_SERVER_FAILED: { retryable: true },
} as const;

/** A condition of {@link BUS_CODES}. */
export type BusCode = keyof typeof BUS_CODES;

/**
 * The one error class of this library: `code` names the condition, `retryable` is true if the same
 * may succeed later.
 */
export class BusError extends Error {
  override readonly name = 'BusError';
  readonly code: BusCode;
  readonly retryable: boolean;

  constructor(code: BusCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryable = BUS_CODES[code].retryable;
  }
}

/** Makes an Error of anything that was thrown, so that it can be a `cause`. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
