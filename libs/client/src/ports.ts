/** The request port of the master (4506). */
export interface RequestPort {
  /**
   * Sends a body and returns the answer. Rejects if no answer came in time.
   * @param options.requestId {@link Command.requestId}, for a port inside of a master
   * @param options.isOwn {@link Command.isOwn}, for the same
   */
  request(
    body: Uint8Array,
    options: {
      readonly timeoutMs: number;
      readonly requestId?: string;
      readonly isOwn?: boolean;
    },
  ): Promise<Uint8Array>;
}

/** The event socket of this host. */
export interface EventPort {
  /**
   * Connects, and passes every event, tag and packed map, to the handler. Rejects without a socket.
   */
  listen(
    onEvent: (tag: string, packed: Uint8Array) => void,
  ): Promise<{ close(): void | Promise<void> }>;
}

/** The master's files on this host. */
export interface MasterPort {
  /** False if no master runs on this host (Salt: `publish_pull.ipc` in `sock_dir`). */
  isPresent(): boolean;
  /** The text of the caller's key file, empty if it cannot be read. */
  readKey(): Promise<string>;
}

/** The external dependencies of a client. */
export interface ClientPorts {
  readonly request: RequestPort;
  readonly events: EventPort;
  readonly master: MasterPort;
  /** Lines for stderr, as Salt logs them. */
  readonly logError: (text: string) => void;
}
