import { addressOf } from '../api/ask.ts';
import { LIVE_EVENTS, type LiveMessage } from './message.ts';

/** How the stream does. */
export type LiveState =
  | { readonly is: 'connecting' }
  | { readonly is: 'live' }
  /** `since`: when the last message came, ms of the epoch. */
  | { readonly is: 'away'; readonly since: number };

/** Who gets what the stream has. */
export interface StreamPeer {
  readonly message: (message: LiveMessage) => void;
  readonly state: (state: LiveState) => void;
}

/** After a refusal a browser does not connect again by itself: this does, ms. */
const RETRY_MS = 3_000;

/** Reads `/v1/stream`; continues after the last message when its topics change. */
export class StreamReader {
  readonly #peer: StreamPeer;
  #topics: readonly string[] = [];
  #source: EventSource | undefined;
  #position: string | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #lastAt = Date.now();

  constructor(peer: StreamPeer) {
    this.#peer = peer;
  }

  /** Asks for other topics. None end the stream. */
  follow(topics: readonly string[]): void {
    if (topics.join() === this.#topics.join()) return;
    this.#topics = topics;
    this.#open();
  }

  close(): void {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = undefined;
  }

  #open(): void {
    this.close();
    if (this.#topics.length === 0) return;
    const query = { topics: this.#topics.join(','), from: this.#position };
    const source = new EventSource(addressOf('/stream', query));
    this.#source = source;
    for (const event of LIVE_EVENTS) {
      source.addEventListener(event, (given) => this.#take(event, given));
    }
    source.addEventListener('error', () => this.#lost(source));
  }

  #take(event: LiveMessage['event'], { data, lastEventId }: MessageEvent<unknown>): void {
    if (lastEventId !== '') this.#position = lastEventId;
    this.#lastAt = Date.now();
    const message = { event, data: JSON.parse(String(data)) as unknown } as LiveMessage;
    if (message.event === 'hello') this.#peer.state({ is: 'live' });
    this.#peer.message(message);
  }

  #lost(source: EventSource): void {
    if (source !== this.#source) return;
    this.#peer.state({ is: 'away', since: this.#lastAt });
    if (source.readyState !== EventSource.CLOSED) return;
    this.#retry = setTimeout(() => this.#open(), RETRY_MS);
  }
}
