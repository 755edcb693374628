import { vi } from 'vitest';

/** What a tab has of its browser, as far as the stream uses it. */
export class FakeTab {
  readonly window = Object.assign(new EventTarget(), {
    location: { origin: 'http://brine.test' },
  });
  readonly document = Object.assign(new EventTarget(), { hidden: false });

  hide(hidden: boolean): void {
    this.document.hidden = hidden;
    this.document.dispatchEvent(new Event('visibilitychange'));
  }
}

interface Waiter {
  readonly name: string;
  readonly grant: () => void;
}

/** Locks as browsers have them: one owner for each name, others wait in line. */
export class FakeLocks {
  readonly #owners = new Map<string, Waiter>();
  readonly #waiting: Waiter[] = [];

  request(
    name: string,
    { signal }: { readonly signal: AbortSignal },
    own: () => Promise<void>,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        name,
        grant: () => {
          this.#owners.set(name, waiter);
          void own().then(() => {
            this.#owners.delete(name);
            resolve();
            this.#next(name);
          });
        },
      };
      signal.addEventListener('abort', () => {
        const at = this.#waiting.indexOf(waiter);
        if (at < 0) return;
        this.#waiting.splice(at, 1);
        reject(new DOMException('left the line', 'AbortError'));
      });
      this.#waiting.push(waiter);
      this.#next(name);
    });
  }

  query(): Promise<{ readonly held: readonly { readonly name: string }[] }> {
    return Promise.resolve({ held: [...this.#owners.values()].map(({ name }) => ({ name })) });
  }

  #next(name: string): void {
    const at = this.#waiting.findIndex((one) => one.name === name);
    if (at < 0 || this.#owners.has(name)) return;
    const [waiter] = this.#waiting.splice(at, 1);
    waiter?.grant();
  }
}

/** A channel between the tabs of one browser. */
export class FakeChannel extends EventTarget {
  static readonly #open = new Set<FakeChannel>();
  readonly name: string;

  constructor(name: string) {
    super();
    this.name = name;
    FakeChannel.#open.add(this);
  }

  postMessage(data: unknown): void {
    const copy = structuredClone(data);
    for (const other of FakeChannel.#open) {
      if (other === this || other.name !== this.name) continue;
      other.dispatchEvent(new MessageEvent('message', { data: copy }));
    }
  }

  close(): void {
    FakeChannel.#open.delete(this);
  }

  static closeAll(): void {
    FakeChannel.#open.clear();
  }
}

/** A stream of server-sent events whose server is the test. */
export class FakeSource extends EventTarget {
  static readonly CLOSED = 2;
  static all: FakeSource[] = [];
  readonly url: URL;
  readyState = 1;

  constructor(address: string) {
    super();
    this.url = new URL(address, 'http://brine.test');
    FakeSource.all.push(this);
  }

  static get open(): readonly FakeSource[] {
    return FakeSource.all.filter(({ readyState }) => readyState !== FakeSource.CLOSED);
  }

  get topics(): readonly string[] {
    return (this.url.searchParams.get('topics') ?? '').split(',');
  }

  get from(): string | null {
    return this.url.searchParams.get('from');
  }

  send(event: string, data: unknown, lastEventId = ''): void {
    if (this.readyState === FakeSource.CLOSED) return;
    this.dispatchEvent(new MessageEvent(event, { data: JSON.stringify(data), lastEventId }));
  }

  hello(position: string): void {
    this.send('hello', { position, topics: [...this.topics], heartbeat: 15 }, position);
  }

  /** The server refuses: a browser does not come again by itself. */
  refuse(): void {
    this.readyState = FakeSource.CLOSED;
    this.dispatchEvent(new Event('error'));
  }

  /** The network fails: a browser comes again by itself. */
  cut(): void {
    this.readyState = 0;
    this.dispatchEvent(new Event('error'));
  }

  close(): void {
    this.readyState = FakeSource.CLOSED;
  }
}

/** Puts the parts of a browser into place, with time that stands still. */
export function fakeBrowser(): { readonly tab: FakeTab; readonly locks: FakeLocks } {
  const [tab, locks] = [new FakeTab(), new FakeLocks()];
  FakeSource.all = [];
  FakeChannel.closeAll();
  vi.useFakeTimers();
  vi.stubGlobal('window', tab.window);
  vi.stubGlobal('document', tab.document);
  vi.stubGlobal('navigator', { locks });
  vi.stubGlobal('BroadcastChannel', FakeChannel);
  vi.stubGlobal('EventSource', FakeSource);
  return { tab, locks };
}

/** Ends what {@link fakeBrowser} began. */
export function endFakeBrowser(): void {
  vi.useRealTimers();
  vi.unstubAllGlobals();
}
