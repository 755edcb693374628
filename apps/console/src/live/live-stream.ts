import type { StreamData } from '@brine/api';
import { API_PATH } from '../places.ts';
import { randomName } from '../state/random-name.ts';
import { isFor, type LiveMessage } from './message.ts';
import { type LiveState, type StreamPeer, StreamReader } from './stream-reader.ts';
import { joinTopics } from './wanted-topics.ts';

/** A browser has six connections to an origin: all its tabs of one master share one stream. */
const NAME = `brine-stream ${API_PATH}`;
/** Topics change together when a page is left for another, or the reading tab for another, ms. */
const SETTLE_MS = 30;

/** After which message a stream continues; undefined before the first one. */
type At = string | undefined;

/** What tabs send each other. */
type Note =
  | {
      readonly is: 'wants';
      readonly tab: string;
      readonly topics: readonly string[];
      /** Whether the tab is in front of a window. */
      readonly isSeen: boolean;
    }
  | { readonly is: 'leads' }
  | { readonly is: 'message'; readonly message: LiveMessage; readonly position: At }
  | {
      readonly is: 'state';
      readonly state: LiveState;
      readonly left: readonly string[];
      readonly refused: readonly RefusedTopic[];
      readonly position: At;
    };

/** A topic that the server does not give, and why. */
type RefusedTopic = StreamData['refused'];

type Wants = Note & { readonly is: 'wants' };
type Take = (message: LiveMessage) => void;

/** The live part of a tab. One tab of the browser reads the stream, and passes it on. */
export class LiveStream {
  readonly #tab = randomName();
  /** Undefined where the browser has no locks, over plain HTTP: then each tab has its stream. */
  #channel: BroadcastChannel | undefined;
  readonly #takers = new Map<string, Set<Take>>();
  readonly #watchers = new Set<() => void>();
  #stop = new AbortController();
  #state: LiveState = { is: 'idle' };
  #left: readonly string[] = [];
  #refused: readonly RefusedTopic[] = [];
  /** Where this tab continues, if it is the next one to read for all. */
  #position: At;
  #leader: Leader | undefined;
  #settle: ReturnType<typeof setTimeout> | undefined;

  /** Begins. @returns ends it */
  open(): () => void {
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    window.addEventListener('focus', () => this.#announce(), { signal });
    document.addEventListener('visibilitychange', () => this.#announce(), { signal });
    if ('locks' in navigator) this.#share();
    else this.#beAlone();
    return () => this.#close();
  }

  #share(): void {
    this.#channel = new BroadcastChannel(NAME);
    this.#channel.addEventListener('message', ({ data }) => this.#read(data as Note));
    // A tab that is gone leaves its lock: then it is no tab any more.
    void this.#keep(lockOf(this.#tab), () => undefined);
    void this.#keep(NAME, () => this.#lead());
  }

  /** Each tab has a connection of its own: one that is not seen gives it to those that are. */
  #beAlone(): void {
    const { signal } = this.#stop;
    const see = (): void => this.#leader?.rest(document.hidden);
    document.addEventListener('visibilitychange', see, { signal });
    this.#lead();
    see();
  }

  get state(): LiveState {
    return this.#state;
  }

  /** False while this topic does not come: its page asks again by itself. */
  has(topic: string): boolean {
    return this.#state.is === 'live' && !this.#left.includes(topic);
  }

  /** What the server refuses of the topics of this tab, a line each; empty if nothing. */
  get refusals(): string {
    return this.#refused
      .filter(({ topic }) => this.#takers.has(topic))
      .map(({ topic, why }) => `${topic} ${why}`)
      .join('\n');
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
    this.#channel?.postMessage(this.#wants([]));
    this.#stop.abort();
    this.#leader?.close();
    this.#leader = undefined;
    this.#channel?.close();
    this.#channel = undefined;
    clearTimeout(this.#settle);
  }

  #announce(): void {
    clearTimeout(this.#settle);
    this.#settle = setTimeout(() => this.#ask(), SETTLE_MS);
  }

  #ask(): void {
    clearTimeout(this.#settle);
    const note = this.#wants([...this.#takers.keys()]);
    this.#channel?.postMessage(note);
    this.#leader?.wants(note);
  }

  #wants(topics: readonly string[]): Wants {
    return { is: 'wants', tab: this.#tab, topics, isSeen: !document.hidden };
  }

  #read(note: Note): void {
    if (note.is === 'message') this.#give(note.message, note.position);
    else if (note.is === 'state') this.#note(note);
    else if (note.is === 'leads') this.#ask();
    else this.#leader?.wants(note);
  }

  #give(message: LiveMessage, position: At): void {
    this.#position = position;
    for (const [topic, takers] of this.#takers) {
      if (isFor(topic, message)) for (const take of takers) take(message);
    }
  }

  #note({ state, left, refused, position }: Note & { readonly is: 'state' }): void {
    this.#state = state;
    this.#left = left;
    this.#refused = refused;
    this.#position = position;
    for (const changed of this.#watchers) changed();
  }

  #lead(): void {
    const send = (note: Note): void => {
      this.#channel?.postMessage(note);
      this.#read(note);
    };
    this.#leader = new Leader(send, this.#position);
    send({ is: 'leads' });
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
  readonly #tabs = new Map<string, Wants>();
  readonly #reader: StreamReader;
  #left: readonly string[] = [];
  /** They are not asked for again while a tab wants them: each would open the stream again. */
  readonly #refused = new Map<string, RefusedTopic>();
  #state: LiveState = { is: 'idle' };
  #isClosed = false;
  /** What all tabs want is here: the first stream continues for all of them. */
  readonly #begun = new Promise<void>((resolve) => {
    setTimeout(resolve, SETTLE_MS);
  });

  /** @param position of the last message that the one before passed on */
  constructor(send: (note: Note) => void, position: At) {
    this.#send = send;
    const peer: StreamPeer = {
      message: (message, at) => {
        if (message.event === 'refused') this.#refuse(message.data);
        send({ is: 'message', message, position: at });
      },
      state: (state) => this.#pass(state),
    };
    this.#reader = new StreamReader(peer, position);
  }

  /** Of two tabs the one that is seen comes first, and the one whose topics came last. */
  wants(note: Wants): void {
    this.#tabs.delete(note.tab);
    if (note.topics.length > 0) this.#tabs.set(note.tab, note);
    void this.#join();
  }

  rest(isResting: boolean): void {
    this.#reader.rest(isResting);
  }

  close(): void {
    this.#isClosed = true;
    this.#reader.close();
  }

  async #join(): Promise<void> {
    await this.#begun;
    await this.#forgetClosedTabs();
    if (this.#isClosed) return;
    const tabs = [...this.#tabs.values()].reverse();
    const inOrder = [...tabs.filter(({ isSeen }) => isSeen), ...tabs.filter((one) => !one.isSeen)];
    const wanted = new Set(inOrder.flatMap((tab) => tab.topics));
    for (const topic of this.#refused.keys()) {
      if (!wanted.has(topic)) this.#refused.delete(topic);
    }
    const { topics, left } = joinTopics(
      inOrder.map((tab) => tab.topics.filter((topic) => !this.#refused.has(topic))),
    );
    this.#left = left;
    this.#reader.follow(topics);
    this.#pass(this.#state);
  }

  #pass(state: LiveState): void {
    this.#state = state;
    const { position } = this.#reader;
    const refused = [...this.#refused.values()];
    const left = [...this.#left, ...this.#refused.keys()];
    this.#send({ is: 'state', state, left, refused, position });
  }

  #refuse(refused: RefusedTopic): void {
    this.#refused.set(refused.topic, refused);
    this.#pass(this.#state);
  }

  async #forgetClosedTabs(): Promise<void> {
    if (!('locks' in navigator)) return;
    const { held = [] } = await navigator.locks.query();
    const open = new Set(held.map(({ name }) => name));
    for (const tab of this.#tabs.keys()) {
      if (!open.has(lockOf(tab))) this.#tabs.delete(tab);
    }
  }
}

function lockOf(tab: string): string {
  return `${NAME}-tab-${tab}`;
}
