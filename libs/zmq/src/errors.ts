/** The conditions at a ZeroMQ socket. */
export type ZmqErrorCode =
  | 'SALT_ZMQ_BIND'
  | 'SALT_ZMQ_CLOSED'
  | 'SALT_ZMQ_TIMEOUT'
  | 'SALT_ZMQ_LOST'
  | 'SALT_ZMQ_ABORTED'
  | 'SALT_ZMQ_SOCKET';

const RETRYABLE: ReadonlySet<ZmqErrorCode> = new Set([
  'SALT_ZMQ_TIMEOUT',
  'SALT_ZMQ_LOST',
  'SALT_ZMQ_SOCKET',
]);

/**
 * The one error that this library throws.
 *
 * - `SALT_ZMQ_BIND`: the endpoint can not be bound (taken, no such address, no right to).
 * - `SALT_ZMQ_CLOSED`: the socket was closed by its owner.
 * - `SALT_ZMQ_TIMEOUT`: no reply in time; a new socket is open and may be used.
 * - `SALT_ZMQ_LOST`: the peer disconnected with the request in flight; retry at once.
 * - `SALT_ZMQ_ABORTED`: the caller's signal ended the request.
 * - `SALT_ZMQ_SOCKET`: libzmq refused an operation; see `cause`.
 */
export class ZmqError extends Error {
  readonly code: ZmqErrorCode;
  /** True if a retry of the same call may succeed. */
  readonly retryable: boolean;

  constructor(code: ZmqErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ZmqError';
    this.code = code;
    this.retryable = RETRYABLE.has(code);
  }
}
