/** Data as engines see it: what JSON can say. Bytes that are no text are in base64. */
export type Plain =
  null | boolean | number | string | readonly Plain[] | { readonly [key: string]: Plain };

/** What an event that an engine fires may hold: bytes too, which stay bytes. */
export type Fired =
  Plain | Uint8Array | readonly Fired[] | { readonly [key: string]: Fired | undefined };

/** An event of the cluster, in the hands of an engine. */
export interface EngineEvent {
  /** The same whenever the event is given: for outputs that know what they have. */
  readonly id: string;
  readonly tag: string;
  /** With `_stamp`, as readers of the event socket get it. */
  readonly data: { readonly [key: string]: Plain };
  /** When the cluster had it, unix ms. */
  readonly timeMs: number;
  /**
   * The engine is done with it. Events that are done are not given again after a restart; the
   * others are. No further events come while too many are not done.
   */
  done(): void;
}

/** Which events an engine wants. */
export interface EventWish {
  /** Tags with wild cards; default all. */
  readonly tags?: readonly string[] | undefined;
  /**
   * `saved`: go on after the last event that was done, also of a time in which no engine ran. The
   * first time, and with `now`: what comes from now on.
   */
  readonly from?: 'saved' | 'now';
}

/** How an engine's own figures are shown by `brine status`. */
export type EngineFigures = Readonly<Record<string, number | string>>;

/** What an engine works with. A module of the site gets the same as those of Brine. */
export interface EngineContext {
  /** Its name in `engines:`. */
  readonly name: string;
  /** Id of the master, `<host>_master`. */
  readonly masterId: string;
  /** Aborted when the engine is to stop; it has five seconds then. */
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
  /** What {@link save} kept, of whichever process had the engine before; null for nothing. */
  saved(): Plain;
  /** Keeps a value of up to 240 KiB as JSON beyond a restart, and for another host. */
  save(value: Plain): Promise<void>;
  /** A line for the log of the master. */
  log(level: 'info' | 'warn' | 'error', text: string): void;
  /** Figures for `brine status`. */
  tell(figures: EngineFigures): void;
}

/**
 * An engine: it runs until it is to stop. One that returns earlier, or throws, is started again.
 */
export type EngineStart = (
  engine: EngineContext,
  options: { readonly [key: string]: Plain },
) => Promise<void>;
