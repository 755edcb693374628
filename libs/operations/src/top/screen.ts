import { emitKeypressEvents } from 'node:readline';
import type { ReadStream, WriteStream } from 'node:tty';
import { createLogUpdate } from 'log-update';
import type { Key } from './state.ts';

/** The alternate screen of the terminal, so that the previous content returns. */
const OTHER_PAGE = '\x1b[?1049h\x1b[2J\x1b[H';
const FIRST_PAGE = '\x1b[?1049l';
const CLEAR = '\x1b[2J\x1b[H';

/** The streams of a terminal. */
export interface ScreenStreams {
  readonly input: Pick<ReadStream, 'on' | 'off' | 'setRawMode' | 'resume' | 'pause'> &
    NodeJS.ReadableStream;
  readonly output: Pick<WriteStream, 'write' | 'on' | 'off' | 'columns' | 'rows'> &
    NodeJS.WritableStream;
}

/** A terminal that shows one picture and takes keys. */
export class Screen {
  readonly #streams: ScreenStreams;
  readonly #onKey: (key: Key) => void;
  readonly #onResize: () => void;
  readonly #show: ReturnType<typeof createLogUpdate>;
  #isOpen = false;

  constructor(streams: ScreenStreams, on: { key: (key: Key) => void; resize: () => void }) {
    this.#streams = streams;
    this.#onKey = on.key;
    this.#onResize = on.resize;
    this.#show = createLogUpdate(streams.output);
  }

  get size(): { readonly columns: number; readonly rows: number } {
    const { columns = 80, rows = 24 } = this.#streams.output;
    return { columns, rows };
  }

  /** Takes the terminal. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    const { input, output } = this.#streams;
    output.write(OTHER_PAGE);
    emitKeypressEvents(input);
    input.setRawMode(true);
    input.on('keypress', this.#pressed);
    output.on('resize', this.#resized);
    input.resume();
  }

  /** Only what changed goes to the terminal. */
  show(text: string): void {
    if (this.#isOpen) this.#show(text);
  }

  /** Restores the terminal. Idempotent. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const { input, output } = this.#streams;
    input.off('keypress', this.#pressed);
    output.off('resize', this.#resized);
    input.setRawMode(false);
    input.pause();
    this.#show.done();
    output.write(FIRST_PAGE);
  }

  readonly #pressed = (_text: string | undefined, key: Key): void => this.#onKey(key);

  readonly #resized = (): void => {
    // After a change of the width the whole picture must be drawn again.
    this.#show.done();
    this.#streams.output.write(CLEAR);
    this.#onResize();
  };
}
