import { addressOf } from '../api/ask.ts';
import { LIVE_EVENTS, type LiveMessage } from './message.ts';

/** How the stream does. */
export type LiveState =
  /** No page that is open has a live part. */
  | { readonly is: 'idle' }
  | { readonly is: 'connecting' }
  | { readonly is: 'live' }
  /** `since`: when the last message came, ms of the epoch. */
  | { readonly is: 'away'; readonly since: number };

/** Who gets what the stream has. */
export interface StreamPeer {
  /** @param position of the last message that has one */
  readonly message: (message: LiveMessage, position: string | undefined) => void;
  readonly state: (state: LiveState) => void;
}

/** After a refusal a browser does not connect again by itself: this does, later each time, ms. */
const RETRY_MS = 3_000;
const RETRY_MAX_MS = 30_000;

/** Reads `/v1/stream`; continues after the last message when its topics change. */
export class StreamReader {
  readonly #peer: StreamPeer;
  #topics: readonly string[] = [];
  #source: EventSource | undefined;
  #position: string | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #retryMs = RETRY_MS;
  #lastAt = Date.now();
  #isResting = false;

  /** @param position continues after this one; undefined: from now on */
  constructor(peer: StreamPeer, position?: string) {
    this.#peer = peer;
    this.#position = position;
  }

  /** Of the last message. */
  get position(): string | undefined {
    return this.#position;
  }

  /** Asks for other topics. None end the stream: what is asked for later begins at its time. */
  follow(topics: readonly string[]): void {
    if (topics.join() === this.#topics.join()) return;
    const isFirst = this.#topics.length === 0;
    this.#topics = topics;
    if (topics.length === 0) {
      this.close();
      this.#position = undefined;
      this.#peer.state({ is: 'idle' });
    } else if (!this.#isResting) {
      if (isFirst) this.#peer.state({ is: 'connecting' });
      this.#open();
    }
  }

  /** Gives the connection back, and continues later after the last message. */
  rest(isResting: boolean): void {
    if (isResting === this.#isResting) return;
    this.#isResting = isResting;
    if (this.#topics.length === 0) return;
    this.#peer.state({ is: 'connecting' });
    if (isResting) this.close();
    else this.#open();
  }

  close(): void {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = undefined;
  }

  #open(): void {
    this.close();
    const query = { topics: this.#topics.join(','), from: this.#position };
    const source = new EventSource(addressOf('/stream', query));
    this.#source = source;
    for (const event of LIVE_EVENTS) {
      source.addEventListener(event, (given) => this.#take(event, given));
    }
    source.addEventListener('error', () => this.#lost(source));
  }

  #take(event: LiveMessage['event'], { data, lastEventId }: MessageEvent<unknown>): void {
    const isFirst = this.#position === undefined;
    if (lastEventId !== '') this.#position = lastEventId;
    this.#lastAt = Date.now();
    const message = { event, data: JSON.parse(String(data)) as unknown } as LiveMessage;
    if (message.event === 'hello') {
      this.#retryMs = RETRY_MS;
      this.#peer.state({ is: 'live' });
    }
    this.#peer.message(message, this.#position);
    // What was asked for before a stream from now on may lack what happened in between.
    if (isFirst && message.event === 'hello') {
      const { position } = message.data;
      this.#peer.message({ event: 'reset', data: { position } }, this.#position);
    }
  }

  #lost(source: EventSource): void {
    if (source !== this.#source) return;
    this.#peer.state({ is: 'away', since: this.#lastAt });
    if (source.readyState !== EventSource.CLOSED) return;
    this.#retry = setTimeout(() => this.#open(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MAX_MS);
  }
}
