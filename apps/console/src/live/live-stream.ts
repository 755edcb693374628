import { randomName } from '../state/random-name.ts';
import { isFor, type LiveMessage } from './message.ts';
import { type LiveState, StreamReader } from './stream-reader.ts';
import { joinTopics } from './wanted-topics.ts';

/** A browser has six connections to an origin: all its tabs share one stream. */
const NAME = 'brine-stream';
/** Topics change together when a page is left for another, ms. */
const SETTLE_MS = 30;

/** What tabs send each other. */
type Note =
  | { readonly is: 'wants'; readonly tab: string; readonly topics: readonly string[] }
  | { readonly is: 'leads' }
  | { readonly is: 'message'; readonly message: LiveMessage }
  | { readonly is: 'state'; readonly state: LiveState; readonly left: readonly string[] };

type Take = (message: LiveMessage) => void;

/** The live part of a tab. One tab of the browser reads the stream, and passes it on. */
export class LiveStream {
  readonly #tab = randomName();
  /** Undefined where the browser has no locks, over plain HTTP: then each tab has its stream. */
  #channel: BroadcastChannel | undefined;
  readonly #takers = new Map<string, Set<Take>>();
  readonly #watchers = new Set<() => void>();
  #stop = new AbortController();
  #state: LiveState = { is: 'connecting' };
  #left: readonly string[] = [];
  #leader: Leader | undefined;
  #settle: ReturnType<typeof setTimeout> | undefined;

  /** Begins. @returns ends it */
  open(): () => void {
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    window.addEventListener('focus', () => this.#announce(), { signal });
    if ('locks' in navigator) this.#share();
    else this.#lead();
    return () => this.#close();
  }

  #share(): void {
    this.#channel = new BroadcastChannel(NAME);
    this.#channel.addEventListener('message', ({ data }) => this.#read(data as Note));
    // A tab that is gone leaves its lock: then it is no tab any more.
    void this.#keep(lockOf(this.#tab), () => undefined);
    void this.#keep(NAME, () => this.#lead());
  }

  get state(): LiveState {
    return this.#state;
  }

  /** False while this topic does not come: its page asks again by itself. */
  has(topic: string): boolean {
    return this.#state.is === 'live' && !this.#left.includes(topic);
  }

  /** Calls after each change of the state. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => void this.#watchers.delete(changed);
  }

  /** Takes the messages of a topic, and those of the stream itself. */
  subscribe(topic: string, take: Take): () => void {
    const takers = this.#takers.get(topic) ?? new Set();
    this.#takers.set(topic, takers.add(take));
    this.#announce();
    return () => {
      takers.delete(take);
      if (takers.size === 0 && this.#takers.get(topic) === takers) this.#takers.delete(topic);
      this.#announce();
    };
  }

  #close(): void {
    this.#stop.abort();
    this.#leader?.close();
    this.#leader = undefined;
    this.#channel?.close();
    this.#channel = undefined;
    clearTimeout(this.#settle);
  }

  #announce(): void {
    clearTimeout(this.#settle);
    this.#settle = setTimeout(() => {
      const note = { is: 'wants', tab: this.#tab, topics: [...this.#takers.keys()] } as const;
      this.#channel?.postMessage(note);
      this.#leader?.wants(note.tab, note.topics);
    }, SETTLE_MS);
  }

  #read(note: Note): void {
    if (note.is === 'message') this.#give(note.message);
    else if (note.is === 'state') this.#note(note.state, note.left);
    else if (note.is === 'leads') this.#announce();
    else this.#leader?.wants(note.tab, note.topics);
  }

  #give(message: LiveMessage): void {
    for (const [topic, takers] of this.#takers) {
      if (isFor(topic, message)) for (const take of takers) take(message);
    }
  }

  #note(state: LiveState, left: readonly string[]): void {
    this.#state = state;
    this.#left = left;
    for (const changed of this.#watchers) changed();
  }

  #lead(): void {
    this.#leader = new Leader((note) => {
      this.#channel?.postMessage(note);
      this.#read(note);
    });
    this.#announce();
  }

  /** Has a lock until this tab is closed. */
  async #keep(name: string, got: () => void): Promise<void> {
    const { signal } = this.#stop;
    try {
      await navigator.locks.request(name, { signal }, () => {
        got();
        return new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
      });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

/** The part of the tab that reads for all. */
class Leader {
  readonly #send: (note: Note) => void;
  readonly #topics = new Map<string, readonly string[]>();
  readonly #reader: StreamReader;
  #left: readonly string[] = [];
  #state: LiveState = { is: 'connecting' };

  constructor(send: (note: Note) => void) {
    this.#send = send;
    this.#reader = new StreamReader({
      message: (message) => send({ is: 'message', message }),
      state: (state) => {
        this.#state = state;
        send({ is: 'state', state, left: this.#left });
      },
    });
    send({ is: 'leads' });
  }

  /** The tab whose topics came last is the one that is looked at. */
  wants(tab: string, topics: readonly string[]): void {
    this.#topics.delete(tab);
    this.#topics.set(tab, topics);
    void this.#join();
  }

  close(): void {
    this.#reader.close();
  }

  async #join(): Promise<void> {
    await this.#forgetClosedTabs();
    const { topics, left } = joinTopics([...this.#topics.values()].reverse());
    this.#left = left;
    this.#reader.follow(topics);
    this.#send({ is: 'state', state: this.#state, left });
  }

  async #forgetClosedTabs(): Promise<void> {
    if (!('locks' in navigator)) return;
    const { held = [] } = await navigator.locks.query();
    const open = new Set(held.map(({ name }) => name));
    for (const tab of this.#topics.keys()) {
      if (!open.has(lockOf(tab))) this.#topics.delete(tab);
    }
  }
}

function lockOf(tab: string): string {
  return `${NAME}-tab-${tab}`;
}
