/** Data as engines see it: values of JSON. Bytes that are not UTF-8 are in base64. */
export type Plain =
  null | boolean | number | string | readonly Plain[] | { readonly [key: string]: Plain };

/** The data of an event that an engine fires. Bytes are allowed and stay bytes. */
export type Fired =
  Plain | Uint8Array | readonly Fired[] | { readonly [key: string]: Fired | undefined };

/** An event of the cluster, as an engine receives it. */
export interface EngineEvent {
  /** The same in every delivery, so that outputs can detect duplicates. */
  readonly id: string;
  readonly tag: string;
  /** With `_stamp`, as readers of the event socket get it. */
  readonly data: { readonly [key: string]: Plain };
  /** Time of storage in the cluster, unix ms. */
  readonly timeMs: number;
  /**
   * Marks the event as processed. Processed events are not delivered again after a restart; the
   * others are. No more events arrive while too many are unprocessed.
   */
  done(): void;
}

/** The events that an engine subscribes to. */
export interface EventWish {
  /** Tags with wild cards; default all. */
  readonly tags?: readonly string[] | undefined;
  /**
   * `saved`: resume after the last processed event, even if no engine ran meanwhile. The first
   * time, and with `now`, only new events arrive.
   */
  readonly from?: 'saved' | 'now';
}

/** An engine's own figures, shown by `brine status`. */
export type EngineFigures = Readonly<Record<string, number | string>>;

/** The interface of an engine to its master. Modules of a site get the same as those of Brine. */
export interface EngineContext {
  /** Its name in `engines:`. */
  readonly name: string;
  /** Id of the master, `<host>_master`. */
  readonly masterId: string;
  /** Aborted when the engine is to stop; it then has five seconds. */
  readonly stopping: AbortSignal;
  /** Events of the whole cluster, in their order, until the engine is to stop. */
  events(wish?: EventWish): AsyncIterable<EngineEvent>;
  /** Fires an event on the bus of the whole cluster; resolves when it is stored. */
  fire(tag: string, data: { readonly [key: string]: Fired | undefined }): Promise<void>;
  /**
   * Calls a runner or wheel function as the master's own user.
   * @throws Error with the text of its failure
   */
  call(
    kind: 'runner' | 'wheel',
    fun: string,
    args?: readonly Plain[],
    kwargs?: { readonly [key: string]: Plain },
  ): Promise<Plain>;
  /** The last value of {@link save}, from any process that had the engine; null: none. */
  saved(): Plain;
  /** Stores a value of up to 240 KiB as JSON, for a restart or another host. */
  save(value: Plain): Promise<void>;
  /** Logs a line in the log of the master. */
  log(level: 'info' | 'warn' | 'error', text: string): void;
  /** Sets the figures for `brine status`. */
  tell(figures: EngineFigures): void;
}

/**
 * An engine: it runs until it is to stop. If it returns earlier, or throws, it is started again.
 */
export type EngineStart = (
  engine: EngineContext,
  options: { readonly [key: string]: Plain },
) => Promise<void>;
