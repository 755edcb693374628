/** The API can not be reached, or is none of Brine's. The text names the address and the remedy. */
export class ApiUnreachableError extends Error {
  constructor(text: string, options?: ErrorOptions) {
    super(text, options);
    this.name = 'ApiUnreachableError';
  }
}

/** The API refused a request: the problem that it answered. */
export class ApiRefusedError extends Error {
  readonly status: number;
  /** The code of the problem; empty if the answer was none. */
  readonly code: string;

  constructor(status: number, code: string, text: string) {
    super(text);
    this.name = 'ApiRefusedError';
    this.status = status;
    this.code = code;
  }
}
