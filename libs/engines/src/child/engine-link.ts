import { eventData } from '@brine/bus/event-data';
import { errorText, Gate, Wakeup } from '@brine/tasks';
import { pack } from '@brine/wire';
import type {
  EngineContext,
  EngineEvent,
  EngineFigures,
  EventWish,
  Fired,
  Plain,
} from '../engine.ts';
import { plainMap, saltMap, saltOf } from '../plain.ts';
import { type FromEngine, LIMITS, type ToEngine } from '../protocol.ts';

type Start = Extract<ToEngine, { type: 'start' }>;
type FedEvent = Extract<ToEngine, { type: 'event' }>;
type Ending = Extract<FromEngine, { type: 'failed' | 'refused' }>;

/** Longest delay before finished events are reported together, ms. */
const DONE_MS = 50;
const DONE_AT_ONCE = 100;

/** The channel between the process of an engine and its master, as an engine sees it. */
export class EngineLink implements EngineContext {
  readonly #stopping = new AbortController();
  readonly #asked = new Map<number, { resolve(value: Plain): void; reject(error: Error): void }>();
  /** Limits concurrent questions; the others wait here. */
  readonly #questions = new Gate(LIMITS.calls);
  #events: FedEvent[] = [];
  readonly #news = new Wakeup();
  #done: number[] = [];
  #doneTimer: NodeJS.Timeout | undefined;
  #lastId = 0;
  #isListening = false;
  #start: Start | undefined;
  #onStart: ((start: Start) => Promise<void>) | undefined;

  constructor() {
    process.on('message', (message) => this.#receive(message as ToEngine));
  }

  get name(): string {
    return this.#start?.name ?? '';
  }

  get masterId(): string {
    return this.#start?.masterId ?? '';
  }

  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Sets the function that runs when the master sends the start message. */
  whenStarted(onStart: (start: Start) => Promise<void>): void {
    this.#onStart = onStart;
  }

  /** Reports that this process can receive the start message. */
  loaded(): void {
    this.#send({ type: 'loaded' });
  }

  /** Reports that the module runs. */
  running(): void {
    this.#send({ type: 'running' });
  }

  /** Reports why this process ends, and ends it once the report is sent. */
  end(ending: Ending): void {
    this.#reportDone();
    const isAsked = this.#stopping.signal.aborted;
    const leave = (): never => process.exit(isAsked ? 0 : 1);
    if (isAsked || process.send === undefined) leave();
    else process.send(ending, undefined, undefined, () => leave());
  }

  async *events(wish: EventWish = {}): AsyncIterable<EngineEvent> {
    if (this.#isListening) throw new Error('an engine listens once');
    this.#isListening = true;
    const { tags, from = 'saved' } = wish;
    this.#send({ type: 'listen', wish: { from, ...(tags === undefined ? {} : { tags }) } });
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const next = this.#events.shift();
      if (next === undefined) {
        await this.#news.wait();
        continue;
      }
      const event = this.#readable(next);
      if (event !== undefined) yield event;
    }
  }

  async fire(tag: string, data: { readonly [key: string]: Fired | undefined }): Promise<void> {
    const body = pack(saltMap(data));
    await this.#ask((id) => ({ type: 'fire', id, tag, body }));
  }

  call(
    kind: 'runner' | 'wheel',
    fun: string,
    args: readonly Plain[] = [],
    kwargs: { readonly [key: string]: Plain } = {},
  ): Promise<Plain> {
    // Values that can not be sent fail here, and not in the master.
    saltOf([args, kwargs]);
    return this.#ask((id) => ({ type: 'call', id, kind, fun, args, kwargs }));
  }

  saved(): Plain {
    return this.#start?.saved ?? null;
  }

  async save(value: Plain): Promise<void> {
    await this.#ask((id) => ({ type: 'save', id, value }));
  }

  log(level: 'info' | 'warn' | 'error', text: string): void {
    this.#send({ type: 'log', level, text });
  }

  tell(figures: EngineFigures): void {
    this.#send({ type: 'tell', figures });
  }

  #receive(message: ToEngine): void {
    if (message.type === 'event') {
      this.#events.push(message);
      this.#news.wake();
    } else if (message.type === 'answer') this.#answered(message.id)?.resolve(message.value);
    else if (message.type === 'failure')
      this.#answered(message.id)?.reject(new Error(message.text));
    else if (message.type === 'stop') {
      this.#stopping.abort();
      this.#news.wake();
      // A module that has not started must end too.
      if (this.#start === undefined) process.exit(0);
    } else {
      this.#start = message;
      void this.#onStart?.(message);
    }
  }

  #answered(id: number) {
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    return asked;
  }

  /**
   * An error here would end the engine, and again at each restart, which begins with this event.
   */
  #readable(event: FedEvent): EngineEvent | undefined {
    try {
      return this.#eventOf(event);
    } catch (error) {
      const text = errorText(error);
      this.log('warn', `event ${event.tag} was left out: it can not be read: ${text}`);
      this.#doneWith(event.number);
      return undefined;
    }
  }

  #eventOf({ number, id, kind, tag, timeMs, body }: FedEvent): EngineEvent {
    let isDone = false;
    return {
      id,
      tag,
      timeMs,
      data: plainMap(eventData(body, timeMs, kind)),
      done: () => {
        if (isDone) return;
        isDone = true;
        this.#doneWith(number);
      },
    };
  }

  #doneWith(number: number): void {
    this.#done.push(number);
    if (this.#done.length >= DONE_AT_ONCE) this.#reportDone();
    else this.#doneTimer ??= setTimeout(() => this.#reportDone(), DONE_MS);
  }

  #reportDone(): void {
    clearTimeout(this.#doneTimer);
    this.#doneTimer = undefined;
    if (this.#done.length === 0) return;
    this.#send({ type: 'done', numbers: this.#done });
    this.#done = [];
  }

  /** Asks the master. */
  #ask(make: (id: number) => FromEngine): Promise<Plain> {
    return this.#questions.run(() => {
      this.#lastId += 1;
      const id = this.#lastId;
      return new Promise<Plain>((resolve, reject) => {
        this.#asked.set(id, { resolve, reject });
        this.#send(make(id));
      });
    });
  }

  #send(message: FromEngine): void {
    if (process.connected) process.send?.(message);
  }
}
