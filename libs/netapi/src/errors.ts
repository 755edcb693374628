/**
 * A call that the API refuses, as the HTTP status and the text of Salt's own refusal
 * (salt/netapi/rest_cherrypy/app.py hypermedia_handler).
 */
export class NetapiError extends Error {
  readonly status: number;
  /** Seconds after which the same call may succeed. */
  readonly retryAfter: number | undefined;
  /** Salt's name of the refusal, where a worker gave one. */
  readonly refusal: string | undefined;

  constructor(
    status: number,
    text: string,
    options: ErrorOptions & { retryAfter?: number; refusal?: string } = {},
  ) {
    super(text, options);
    this.name = 'NetapiError';
    this.status = status;
    this.retryAfter = options.retryAfter;
    this.refusal = options.refusal;
  }
}

/** A fault in a call that Salt answers with a map, whatever it was. */
export class UnexpectedError extends Error {
  constructor(text: string, options?: ErrorOptions) {
    super(text, options);
    this.name = 'UnexpectedError';
  }
}
