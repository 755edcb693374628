/** The faults of bytes or values; stable, for callers that branch on them. */
export type WireErrorCode =
  | 'SALT_WIRE_TRUNCATED'
  | 'SALT_WIRE_TRAILING'
  | 'SALT_WIRE_TYPE'
  | 'SALT_WIRE_KEY'
  | 'SALT_WIRE_DEPTH'
  | 'SALT_WIRE_SIZE'
  | 'SALT_WIRE_COST'
  | 'SALT_WIRE_VALUE'
  | 'SALT_WIRE_FIELD'
  | 'SALT_WIRE_FRAMING'
  | 'SALT_WIRE_REFUSED';

/** The error class of this library. `code` names the fault; `cause` is an underlying error. */
export class WireError extends Error {
  override readonly name: string = 'WireError';
  readonly code: WireErrorCode;

  constructor(code: WireErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/**
 * The texts with which a Salt master refuses a request. They are protocol: a minion
 * re-authenticates after a text shorter than 32 characters and only retries after a longer one.
 * Salt: salt/channel/server.py ReqServerChannel.
 */
export const RefusalText = {
  BAD_LOAD: 'bad load',
  LOAD_NOT_A_MAP: 'payload and load must be a dict',
  ID_HAS_NUL: 'bad load: id contains a null byte',
  HANDLING: 'Some exception handling minion payload',
  REPLY_KIND: 'Server-side exception handling payload',
  ROUTING: 'Routing error',
} as const;

/**
 * A request that Salt answers with a fixed refusal. `text` is the answer: as a plain text, or, when
 * `asError` is set, as the map `{"error": text}` (the 3008 pooled device, for frames that are not
 * msgpack).
 */
export class Refusal extends WireError {
  override readonly name: string = 'Refusal';
  readonly text: string;
  readonly asError: boolean;

  constructor(
    text: string,
    options: { readonly asError?: boolean; readonly cause?: unknown } = {},
  ) {
    super('SALT_WIRE_REFUSED', text, 'cause' in options ? { cause: options.cause } : undefined);
    this.text = text;
    this.asError = options.asError ?? false;
  }
}
