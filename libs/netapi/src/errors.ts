/**
 * A call that the API refuses, as the HTTP status and the text of Salt's own refusal
 * (salt/netapi/rest_cherrypy/app.py hypermedia_handler).
 */
export class NetapiError extends Error {
  readonly status: number;
  /** Seconds after which the same call may succeed. */
  readonly retryAfter: number | undefined;

  constructor(status: number, text: string, options: ErrorOptions & { retryAfter?: number } = {}) {
    super(text, options);
    this.name = 'NetapiError';
    this.status = status;
    this.retryAfter = options.retryAfter;
  }
}

/** A fault in a call that Salt answers with a map, whatever it was. */
export class UnexpectedError extends Error {
  constructor(text: string, options?: ErrorOptions) {
    super(text, options);
    this.name = 'UnexpectedError';
  }
}
