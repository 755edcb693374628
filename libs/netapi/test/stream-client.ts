import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { streamMessages } from '@brine/api';
import { loadPauses } from '@brine/testing/waits';

/** A message as a client reads it. */
export interface StreamMessage {
  readonly event: string;
  readonly id: string;
  readonly data: unknown;
}

type Messages = typeof streamMessages;
/** The data of a kind of message. */
export type DataOf<Name extends keyof Messages> = ReturnType<Messages[Name]['parse']>;

/** A client of `/v1/stream`, as a browser's EventSource is one. */
export class StreamClient {
  readonly messages: StreamMessage[] = [];
  /** False: of events only tags and places are kept. */
  keepsEvents = true;
  /** The tags of all events, in order, and their places. */
  readonly tags: string[] = [];
  readonly places: string[] = [];
  lastId: string | undefined;
  token = 'abc123';
  retryMs = 0;
  comments = 0;
  status = 0;
  /** The body of an answer that is no stream. */
  refusal = '';
  isEnded = false;
  #request: ClientRequest | undefined;
  #answer: IncomingMessage | undefined;
  #text = '';
  #lines: { event: string; data: string; id: string | undefined } = emptyLines();

  /** Begins a stream; resolves once it is answered, or failed. */
  async open(
    base: string,
    topics: string,
    { from, token = this.token }: { readonly from?: string; readonly token?: string } = {},
  ): Promise<this> {
    const headers = {
      Authorization: `Bearer ${token}`,
      ...(this.lastId === undefined ? {} : { 'Last-Event-ID': this.lastId }),
    };
    const query = new URLSearchParams({ topics, ...(from === undefined ? {} : { from }) });
    this.isEnded = false;
    this.#text = '';
    this.#lines = emptyLines();
    await new Promise<void>((resolve) => {
      this.#request = get(
        `${base}/v1/stream?${query.toString()}`,
        { headers, agent: false },
        (answer) => {
          this.#answer = answer;
          this.status = answer.statusCode ?? 0;
          answer.setEncoding('utf8');
          answer.on('data', (text: string) => this.#take(text));
          answer.on('close', () => (this.isEnded = true));
          answer.on('error', () => (this.isEnded = true));
          resolve();
        },
      );
      this.#request.on('error', () => {
        this.isEnded = true;
        resolve();
      });
    });
    return this;
  }

  /** Follows, and comes again from its last id whenever the stream ends, until the signal. */
  async follow(bases: () => readonly string[], topics: string, ended: AbortSignal): Promise<void> {
    for (let turn = 0; !ended.aborted; turn += 1) {
      const from = bases();
      await this.open(from[turn % from.length] ?? '', topics);
      while (!this.isEnded && !ended.aborted) await loadPauses(20);
      await loadPauses(20);
    }
    this.close();
  }

  /** The data of all messages of a kind. */
  of<Name extends keyof Messages>(name: Name): DataOf<Name>[] {
    return this.messages
      .filter(({ event }) => event === name)
      .map(({ data }) => streamMessages[name].parse(data) as DataOf<Name>);
  }

  /** Reads no more until {@link resume}. */
  stall(): void {
    this.#answer?.pause();
  }

  resume(): void {
    this.#answer?.resume();
  }

  close(): void {
    this.#request?.destroy();
  }

  #take(text: string): void {
    if (this.status !== 200) {
      this.refusal += text;
      return;
    }
    this.#text += text;
    const lines = this.#text.split('\n');
    this.#text = lines.pop() ?? '';
    for (const line of lines) this.#line(line);
  }

  #keep(message: StreamMessage): void {
    const isOfEvents = message.event === 'events';
    if (this.keepsEvents || !isOfEvents) this.messages.push(message);
    if (!isOfEvents) return;
    for (const { tag, position } of message.data as DataOf<'events'>) {
      this.tags.push(tag);
      this.places.push(position);
    }
  }

  #line(line: string): void {
    if (line === '') {
      const { event, data, id } = this.#lines;
      if (id !== undefined) this.lastId = id;
      if (data !== '') {
        this.#keep({ event, id: this.lastId ?? '', data: JSON.parse(data) as unknown });
      }
      this.#lines = emptyLines();
      return;
    }
    if (line.startsWith(':')) this.comments += 1;
    const [, name = '', value = ''] = /^(\w+): (.*)$/.exec(line) ?? [];
    if (name === 'retry') this.retryMs = Number(value);
    if (name === 'id') this.#lines.id = value;
    if (name === 'event') this.#lines.event = value;
    if (name === 'data') this.#lines.data += value;
  }
}

function emptyLines(): { event: string; data: string; id: string | undefined } {
  return { event: '', data: '', id: undefined };
}
