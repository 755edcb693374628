/** The limits of an HTTP server, and the times after which it gives up a peer. */
export const HTTP_LIMITS = {
  // As CherryPy really takes them on a stock master: its `server.max_request_body_size`.
  bodyBytes: 100 * 1024 * 1024,
  // Followers of events have one each. Beyond it a connection is closed at once.
  connections: 12_000,
  // Until all headers are here; a slow peer must not keep a connection.
  headersMs: 20_000,
  // Until the whole request is here. 100 MiB take this at 3 Mbit/s.
  requestMs: 300_000,
  // Between two requests of a connection.
  idleMs: 72_000,
  // Between two tries to listen on a port that another program has.
  listenAgainMs: 10_000,
  // Requests in hand at a stop are mostly answered within this.
  drainMs: 5_000,
} as const;
