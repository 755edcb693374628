/** The request port of the master (4506). */
export interface RequestPort {
  /**
   * Sends a body and gives the answer. Rejects with an error where no answer came in time.
   * @param options.requestId {@link Command.requestId}, where the port is inside of a master
   * @param options.isOwn {@link Command.isOwn}, as well
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
   * Connects, and from then on hands every event, tag and packed map, to the handler.
   * Rejects where the socket is not there.
   */
  listen(
    onEvent: (tag: string, packed: Uint8Array) => void,
  ): Promise<{ close(): void | Promise<void> }>;
}

/** The master's files on this host. */
export interface MasterPort {
  /** False where no master runs on this host (Salt: `publish_pull.ipc` in `sock_dir`). */
  isPresent(): boolean;
  /** The text of the caller's key file, empty where it cannot be read. */
  readKey(): Promise<string>;
}

/** Everything that a client needs from outside. */
export interface ClientPorts {
  readonly request: RequestPort;
  readonly events: EventPort;
  readonly master: MasterPort;
  /** Lines for stderr, as Salt logs them. */
  readonly logError: (text: string) => void;
}
