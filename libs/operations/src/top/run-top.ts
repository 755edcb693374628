import { draw, type Drawing } from './draw.ts';
import { Screen, type ScreenStreams } from './screen.ts';
import type { TopData, TopSource } from './source.ts';
import { firstState, type Key, pressed, type TopState } from './state.ts';

/** Inputs of a live view. */
export interface TopParts {
  readonly source: Pick<TopSource, 'look'>;
  readonly streams: ScreenStreams;
  readonly color: boolean;
  readonly everyMs: number;
  /** The name of the master. */
  readonly title: string;
  /** Stops this process until the shell resumes it. */
  readonly suspend: () => void;
  /** Ends the view from outside, as a signal does. */
  readonly signal: AbortSignal;
}

/** Shows the master until the user quits. Rejects if this user may read nothing of it. */
export async function runTop(parts: TopParts): Promise<void> {
  const live = new LiveView(parts);
  try {
    await live.ended;
  } finally {
    live.close();
  }
}

/** A picture, its data, and the next query. */
class LiveView {
  readonly ended: Promise<void>;
  readonly #parts: TopParts;
  readonly #screen: Screen;
  #state: TopState;
  #data: TopData | undefined;
  #drawing: Drawing = { text: '', rows: 0, page: 1, jids: [] };
  #timer: NodeJS.Timeout | undefined;
  /** One query at a time: a slow master is not asked twice. */
  #looking = false;
  #again = false;
  #isOver = false;
  #end = (): void => undefined;
  #fail = (_error: unknown): void => undefined;

  constructor(parts: TopParts) {
    this.#parts = parts;
    this.#state = firstState(parts.everyMs);
    const on = { key: (key: Key) => this.#press(key), resize: () => this.#draw() };
    this.#screen = new Screen(parts.streams, on);
    this.ended = new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
    parts.signal.addEventListener('abort', () => this.#end(), { once: true });
    if (parts.signal.aborted) this.#end();
    this.#screen.open();
    this.#draw();
    void this.#look();
  }

  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#screen.close();
  }

  #press(key: Key): void {
    const before = this.#state;
    const { state, wish } = pressed(before, key, this.#drawing);
    this.#state = state;
    // The data of the new view or job is not loaded yet.
    if (this.#data !== undefined && state.jid !== before.jid) {
      this.#data = { ...this.#data, silent: undefined };
    }
    if (wish === 'quit') return this.#end();
    if (wish === 'suspend') {
      this.#screen.close();
      this.#parts.suspend();
      this.#screen.open();
    }
    this.#draw();
    const goesOn = before.paused && !state.paused;
    if (wish === 'refresh' || goesOn) void this.#look();
    else if (state.everyMs !== before.everyMs) this.#arm();
  }

  async #look(): Promise<void> {
    if (this.#looking) {
      this.#again = true;
      return;
    }
    this.#looking = true;
    clearTimeout(this.#timer);
    try {
      this.#data = await this.#parts.source.look(this.#state);
    } catch (error) {
      this.#fail(error);
      return;
    }
    this.#looking = false;
    if (this.#isOver) return;
    this.#draw();
    if (this.#again) {
      this.#again = false;
      void this.#look();
      return;
    }
    this.#arm();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (this.#looking || this.#state.paused) return;
    this.#timer = setTimeout(() => void this.#look(), this.#state.everyMs);
  }

  #draw(): void {
    const sheet = { ...this.#screen.size, color: this.#parts.color };
    this.#drawing = draw(this.#state, this.#data, sheet, this.#parts.title);
    this.#screen.show(this.#drawing.text);
  }
}
