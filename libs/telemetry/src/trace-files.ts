import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { appendFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { removeIfThere } from '@brine/files';
import type { Trouble } from '@brine/tasks';
import { otlpJson, type SpanSource } from './otlp-json.ts';
import type { Span } from './span.ts';
import type { SpanSink } from './span-sink.ts';

/** Spans kept in memory between writes; more than this in one interval are dropped and counted. */
const BUFFER_MAX = 8192;
/** Spans that cause a write at once. */
const BATCH = 512;
const FLUSH_INTERVAL_MS = 250;

/** Bounds of the trace files. */
export interface TraceFileOptions {
  readonly dir: string;
  readonly source: SpanSource;
  /** One file for all processes of the service: for commands, which run for a second. */
  readonly shared?: boolean;
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
  /** Called once per kind of trouble. */
  readonly onTrouble: Trouble;
}

/**
 * Writes spans as OTLP JSON lines, one file per service and process, buffered. A full file is
 * rotated; the oldest files of the directory are removed when all together are too large.
 */
export class TraceFiles implements SpanSink {
  readonly #options: TraceFileOptions;
  readonly #path: string;
  #waiting: Span[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #bytes = 0;
  #turned = 0;
  #dropped = 0;
  #troubled = false;

  constructor(options: TraceFileOptions) {
    this.#options = options;
    const { service, pid } = options.source;
    const name = options.shared === true ? service : `${service}-${pid}`;
    this.#path = join(options.dir, `${name}.jsonl`);
    try {
      mkdirSync(options.dir, { recursive: true, mode: 0o750 });
      // A reused process id continues the old file.
      this.#bytes = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
    } catch (error) {
      this.#trouble('trace directory', error);
    }
  }

  get dropped(): number {
    return this.#dropped;
  }

  add(span: Span): void {
    if (this.#waiting.length >= BUFFER_MAX) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= BATCH) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), FLUSH_INTERVAL_MS).unref();
  }

  /** Writes what waits. Never rejects. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length === 0) return this.#writing;
    const spans = this.#waiting;
    this.#waiting = [];
    this.#writing = this.#writing.then(() => this.#write(spans));
    return this.#writing;
  }

  close(): Promise<void> {
    return this.flush();
  }

  async #write(spans: readonly Span[]): Promise<void> {
    try {
      const line = `${otlpJson(spans, this.#options.source)}\n`;
      if (this.#bytes > 0 && this.#bytes + line.length > this.#options.maxFileBytes) {
        await this.#turnOver();
      }
      await appendFile(this.#path, line, { mode: 0o640 });
      this.#bytes += Buffer.byteLength(line);
    } catch (error) {
      this.#dropped += spans.length;
      this.#trouble('trace file', error);
    }
  }

  async #turnOver(): Promise<void> {
    this.#turned += 1;
    await rename(
      this.#path,
      this.#path.replace(/\.jsonl$/, `.${Date.now()}-${this.#turned}.jsonl`),
    );
    this.#bytes = 0;
    await removeOldest(this.#options.dir, this.#options.maxTotalBytes);
  }

  #trouble(what: string, error: unknown): void {
    if (this.#troubled) return;
    this.#troubled = true;
    this.#options.onTrouble(what, error);
  }
}

/** Removes the oldest trace files until the others fit. */
export async function removeOldest(dir: string, maxTotalBytes: number): Promise<void> {
  const files = readdirSync(dir)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => ({ path: join(dir, name), stat: statFile(join(dir, name)) }))
    .sort((a, b) => b.stat.mtimeMs - a.stat.mtimeMs);
  let total = 0;
  for (const { path, stat } of files) {
    total += stat.size;
    // Another service may have removed the same file meanwhile.
    if (total > maxTotalBytes) await removeIfThere(path);
  }
}

function statFile(path: string): { size: number; mtimeMs: number } {
  return statSync(path, { throwIfNoEntry: false }) ?? { size: 0, mtimeMs: 0 };
}
