/** The limits of an HTTP server, and the times after which it gives up a peer. */
export const HTTP_LIMITS = {
  // As CherryPy really takes them on a stock master: its `server.max_request_body_size`.
  bodyBytes: 100 * 1024 * 1024,
  // Followers of events have one each. Beyond it a connection is closed at once.
  connections: 12_000,
  // Requests at a time in one connection of HTTP/2.
  streams: 128,
  // Until all headers are here; a slow peer must not keep a connection.
  headersMs: 20_000,
  // Until the whole request is here.
  requestMs: 300_000,
  // Connections are compared with these two times this often.
  checkMs: 5_000,
  // Between two requests of a connection.
  idleMs: 72_000,
  // Between two tries to listen on a port that another program has.
  listenAgainMs: 10_000,
  // Requests in flight at a stop are mostly answered within this.
  drainMs: 5_000,
} as const;

/** Values for {@link HTTP_LIMITS}. */
export type HttpLimits = { readonly [name in keyof typeof HTTP_LIMITS]: number };
