const CONDITIONS = {
  SALT_IPC_PATH_TOO_LONG: { retryable: false },
  SALT_IPC_IN_USE: { retryable: true },
  SALT_IPC_CONNECT: { retryable: true },
  SALT_IPC_LOST: { retryable: true },
  SALT_IPC_OVERFLOW: { retryable: true },
} as const;

/** Code of an {@link IpcError}. */
export type IpcErrorCode = keyof typeof CONDITIONS;

/** Thrown when a local event socket can not be served or used; `code` names the condition. */
export class IpcError extends Error {
  readonly code: IpcErrorCode;
  readonly retryable: boolean;

  constructor(code: IpcErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'IpcError';
    this.code = code;
    this.retryable = CONDITIONS[code].retryable;
  }
}
