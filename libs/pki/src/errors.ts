/** The conditions this library reports; `retryable` means that another try may help. */
const CONDITIONS = {
  SALT_PKI_UNREADABLE: { retryable: false },
  SALT_PKI_BAD_KEY: { retryable: false },
  SALT_PKI_BAD_ID: { retryable: false },
  SALT_PKI_STORE_AWAY: { retryable: true },
  SALT_PKI_JOURNAL: { retryable: false },
  SALT_PKI_AUTHORITY: { retryable: false },
} as const;

/** Code of a {@link PkiError}. */
export type PkiErrorCode = keyof typeof CONDITIONS;

/** Thrown when key files can not be read, written or trusted; `code` names the condition. */
export class PkiError extends Error {
  readonly code: PkiErrorCode;
  readonly retryable: boolean;

  constructor(code: PkiErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'PkiError';
    this.code = code;
    this.retryable = CONDITIONS[code].retryable;
  }
}
