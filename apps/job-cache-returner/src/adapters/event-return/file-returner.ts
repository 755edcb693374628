import { open, stat } from 'node:fs/promises';
import { type Batch, eventLine, type EventReturner, type SavedPlace } from '@brine/event-return';
import { ReturnerError } from '@brine/event-return';
import { ifThere } from '@brine/files';
import { errorText } from '@brine/tasks';

/** The end of the file when its place was saved. */
interface FileMark {
  readonly host: string;
  /** The inode of the file; 0 without a file. */
  readonly ino: number;
  readonly size: number;
}

/** Lines after the mark are at most a batch and a part of another. More come from other writers. */
const BEHIND_MAX_BYTES = 32 * 1024 * 1024;
/** After a restart the events of a batch that was written come first. */
const REMEMBERED_EVENTS = 20_000;
/** Readable by the group, as logs are. */
const MODE = 0o640;

/**
 * Events as lines of JSON, as Salt's returner `rawfile_json` writes them. After a crash of this
 * process the lines after the saved place are compared with the events that come again. So no line
 * is written twice.
 */
export class FileReturner implements EventReturner {
  readonly name = 'rawfile_json';
  readonly keepsPlace = false;
  readonly #path: string;
  readonly #host: string;
  #mark: FileMark | undefined;
  /** How often each line occurs after the mark, and an unfinished last one. */
  #behind = new Map<string, number>();
  #torn: Buffer = Buffer.alloc(0);
  #remembered = 0;
  /** A write has failed, or its end was not seen. */
  #isUnsure = true;

  constructor(path: string, host: string) {
    this.#path = path;
    this.#host = host;
  }

  async open({ note }: SavedPlace): Promise<undefined> {
    await this.#doing(async () => {
      this.#mark = markIn(note) ?? { host: this.#host, ...(await this.#facts()) };
      await this.#lookBehind();
    });
  }

  async write({ events }: Batch): Promise<FileMark> {
    const lines = events.map(eventLine);
    return this.#doing(async () => {
      if (this.#isUnsure) await this.#lookBehind();
      const text = this.#missing(lines);
      this.#forget(events.length);
      if (text.length > 0) await this.#append(text);
      const { ino, size } = await this.#facts();
      // The mark stays while lines after it are still expected.
      if (this.#behind.size > 0 && this.#mark !== undefined) return this.#mark;
      this.#mark = { host: this.#host, ino, size };
      return this.#mark;
    });
  }

  async writeAgain(event: Batch['events'][number]): Promise<void> {
    const line = Buffer.from(eventLine(event));
    await this.#doing(() => this.#append(line));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** The bytes of the lines that are missing in the file. */
  #missing(lines: readonly string[]): Buffer {
    if (this.#behind.size === 0 && this.#torn.length === 0) return Buffer.from(lines.join(''));
    const missing = lines.filter((line) => !this.#isBehind(line)).map((one) => Buffer.from(one));
    const torn = this.#torn;
    if (torn.length === 0 || missing.length === 0) return Buffer.concat(missing);
    this.#torn = Buffer.alloc(0);
    const at = missing.findIndex((line) => line.subarray(0, torn.length).equals(torn));
    // The unfinished line matches none of these, so it ends here, as a line that is no JSON.
    if (at < 0) return Buffer.concat([Buffer.from('\n'), ...missing]);
    const rest = missing[at]?.subarray(torn.length) ?? Buffer.alloc(0);
    return Buffer.concat([rest, ...missing.filter((_, index) => index !== at)]);
  }

  /** True if a line is after the mark; each occurrence counts once. */
  #isBehind(line: string): boolean {
    const times = this.#behind.get(line);
    if (times === undefined) return false;
    if (times === 1) this.#behind.delete(line);
    else this.#behind.set(line, times - 1);
    return true;
  }

  #forget(events: number): void {
    this.#remembered -= events;
    if (this.#remembered <= 0) this.#behind.clear();
  }

  async #append(text: Buffer): Promise<void> {
    const file = await open(this.#path, 'a', MODE);
    this.#isUnsure = true;
    try {
      await file.writeFile(text);
      await file.datasync();
      this.#isUnsure = false;
    } finally {
      await file.close();
    }
  }

  /** Reads the lines that this process, or the one before it, wrote after the mark. */
  async #lookBehind(): Promise<void> {
    const { ino, size } = await this.#facts();
    const { host, ino: known, size: marked } = this.#mark ?? { host: '', ino: -1, size: 0 };
    this.#behind.clear();
    this.#torn = Buffer.alloc(0);
    this.#isUnsure = false;
    // Another host has other files; a rotated file is not searched.
    const isSame = host === this.#host && (known === ino || known === 0);
    const length = size - marked;
    if (!isSame || length <= 0 || length > BEHIND_MAX_BYTES) return;
    const file = await open(this.#path, 'r');
    const bytes = Buffer.alloc(length);
    try {
      await file.read(bytes, 0, length, marked);
    } finally {
      await file.close();
    }
    const end = bytes.lastIndexOf('\n') + 1;
    this.#torn = Buffer.from(bytes.subarray(end));
    const lines = bytes.toString('utf8', 0, end).split('\n');
    for (const one of lines.slice(0, -1)) {
      const line = `${one}\n`;
      this.#behind.set(line, (this.#behind.get(line) ?? 0) + 1);
    }
    this.#remembered = REMEMBERED_EVENTS;
  }

  async #facts(): Promise<{ readonly ino: number; readonly size: number }> {
    const { ino, size } = (await ifThere(stat(this.#path))) ?? { ino: 0, size: 0 };
    return { ino, size };
  }

  async #doing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const text = errorText(error);
      throw new ReturnerError('away', text, error);
    }
  }
}

function markIn(note: unknown): FileMark | undefined {
  if (typeof note !== 'object' || note === null) return undefined;
  const { host, ino, size } = note as Record<string, unknown>;
  if (typeof host !== 'string' || typeof ino !== 'number' || typeof size !== 'number') {
    return undefined;
  }
  return { host, ino, size };
}
