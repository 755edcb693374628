const CONDITIONS = {
  SALT_CACHEDIR_BAD_ID: { retryable: false },
  SALT_CACHEDIR_BAD_USER: { retryable: false },
  SALT_CACHEDIR_UNREADABLE: { retryable: false },
} as const;

/** Code of a {@link CachedirError}. */
export type CachedirErrorCode = keyof typeof CONDITIONS;

/** Thrown when files below cachedir can not be read or written; `code` names the condition. */
export class CachedirError extends Error {
  readonly code: CachedirErrorCode;
  readonly retryable: boolean;

  constructor(
    code: CachedirErrorCode,
    message: string,
    options: { readonly cause?: unknown } = {},
  ) {
    super(message, options);
    this.name = 'CachedirError';
    this.code = code;
    this.retryable = CONDITIONS[code].retryable;
  }
}
