import { type ChildProcess, fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '@brine/environment';
import { errorText, isRetryable, LineLimit, sleepUnless } from '@brine/tasks';
import { unpackMap, WireError } from '@brine/wire';
import type { EngineFigures, Plain } from '../engine.ts';
import type { EngineSpec } from '../engine-list.ts';
import { type FromEngine, isFromEngine, LIMITS, type ToEngine } from '../protocol.ts';
import { type EngineEnd, type EngineProcess, STOP_MS } from './engine-process.ts';
import type { EngineCounts } from './engine-status.ts';
import { EventWindow } from './event-window.ts';
import type { EngineFeed, EnginePorts, FedEvent, RecordKeeper } from './ports.ts';
import { tagFilter } from './tag-filter.ts';

export interface NodeEngineParts {
  readonly spec: EngineSpec;
  readonly ports: EnginePorts;
  readonly keeper: RecordKeeper;
  readonly counts: EngineCounts;
  /** Called when the module has started. */
  readonly onRunning: () => void;
  readonly onFigures: (figures: EngineFigures) => void;
}

/** Interval at which an engine's position is saved, ms. */
const KEEP_MS = 1_000;
const TAKEN_AT_ONCE = 100;
const TAKE_WAIT_MS = 1_000;
/** Delay after a body could not be fetched, ms. */
const AGAIN_MS = 1_000;
/** Heap limit of the process, MiB; exceeding it ends the process. */
const HEAP_MB = 512;

/**
 * An engine in a Node process. Events and answers use the channel of that process, which has no
 * access to NATS or PostgreSQL. A fault of the engine ends this process only.
 */
export class NodeEngine implements EngineProcess {
  readonly gone: Promise<EngineEnd>;
  readonly #parts: NodeEngineParts;
  readonly #child: ChildProcess;
  readonly #window = new EventWindow();
  readonly #stopping = new AbortController();
  readonly #lines: LineLimit;
  #feed: EngineFeed | undefined;
  #underWay = { fires: 0, calls: 0 };
  #end: EngineEnd | undefined;
  #keeping: Promise<void> = Promise.resolve();
  #keptPosition: string | undefined;

  constructor(parts: NodeEngineParts) {
    this.#parts = parts;
    this.#keptPosition = parts.keeper.record.position;
    const limits = { perMinute: LIMITS.linesPerMinute, chars: LIMITS.lineChars };
    this.#lines = new LineLimit((level, text) => {
      parts.ports.log(level, `engine ${parts.spec.name}: ${text}`);
    }, limits);
    this.#child = fork(entry(), [], {
      serialization: 'advanced',
      execArgv: [...loaderArguments(), `--max-old-space-size=${HEAP_MB}`],
      env: childEnvironment(process.env),
      ...(IS_SOURCE ? {} : { cwd: '/' }),
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#child.on('message', (message) => this.#receive(message));
    this.#logLines(this.#child.stdout, 'info');
    this.#logLines(this.#child.stderr, 'warn');
    const timer = setInterval(() => void this.#keepPosition(), KEEP_MS);
    this.gone = new Promise((resolve) => {
      const end = (text: string): void => {
        clearInterval(timer);
        this.#stopping.abort();
        this.#feed?.close();
        void this.#keepPosition().then(() => resolve(this.#end ?? { text, refused: false }));
      };
      this.#child.once('exit', (code, signal) => {
        end(signal === null ? `it ended with code ${code ?? 'unknown'}` : `by ${signal}`);
      });
      this.#child.on('error', ({ message }) => {
        this.#fail(`its process failed: ${message}`);
        // A process that did not start has no exit event.
        if (this.#child.pid === undefined) end(message);
      });
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Number of unprocessed events. */
  get inHand(): number {
    return this.#window.size;
  }

  async stop(): Promise<void> {
    this.#end ??= { text: 'it was stopped', refused: false };
    this.#send({ type: 'stop' });
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    await this.gone;
    clearTimeout(timer);
  }

  /** An invalid message of an engine must not harm the master. */
  #receive(message: unknown): void {
    if (!isFromEngine(message)) return;
    try {
      this.#received(message);
    } catch (error) {
      this.#fail(`its process sent an invalid message: ${textOf(error)}`);
      this.#child.kill('SIGKILL');
    }
  }

  #received(message: FromEngine): void {
    const { spec, ports, keeper, counts, onRunning, onFigures } = this.#parts;
    switch (message.type) {
      case 'loaded': {
        const { name, module, options } = spec;
        const { saved } = keeper.record;
        const { masterId } = ports;
        return this.#send({ type: 'start', name, masterId, module, options, saved });
      }
      case 'running':
        return onRunning();
      case 'listen':
        return this.#listen(message.wish.tags, message.wish.from !== 'now');
      case 'done':
        for (const number of message.numbers) this.#window.done(number);
        counts.done += message.numbers.length;
        return;
      case 'fire':
        return this.#answered(message.id, 'fires', async () => {
          await this.#fire(message);
          return null;
        });
      case 'call':
        counts.calls += 1;
        return this.#answered(message.id, 'calls', () => ports.call(message));
      case 'save':
        return this.#answered(message.id, 'fires', async () => {
          await this.#save(message.value);
          return null;
        });
      case 'log':
        return this.#lines.line(levelOf(message.level), String(message.text));
      case 'tell':
        return onFigures(figuresIn(message.figures));
      case 'refused':
      case 'failed':
        this.#fail(String(message.text).slice(0, LIMITS.lineChars), message.type === 'refused');
    }
  }

  #fail(text: string, refused = false): void {
    this.#end ??= { text, refused };
  }

  /** Answers a request of the engine, within a limit of concurrent ones. */
  #answered(id: number, kind: 'fires' | 'calls', work: () => Promise<Plain>): void {
    if (this.#underWay[kind] >= LIMITS[kind]) {
      const text = `more than ${LIMITS[kind]} ${kind} at a time`;
      return this.#send({ type: 'failure', id, text });
    }
    this.#underWay[kind] += 1;
    work()
      .then(
        (value) => this.#send({ type: 'answer', id, value }),
        (error: unknown) => this.#send({ type: 'failure', id, text: textOf(error) }),
      )
      .finally(() => (this.#underWay[kind] -= 1))
      .catch((error: unknown) => this.#fail(textOf(error)));
  }

  async #fire({ tag, body }: Extract<FromEngine, { type: 'fire' }>): Promise<void> {
    const { ports, spec, counts } = this.#parts;
    if (body.length > LIMITS.fireBytes) {
      throw new RangeError(`an event has at most ${LIMITS.fireBytes} bytes`);
    }
    await ports.fire(tag, unpackMap(Buffer.from(body)), spec.name);
    counts.fired += 1;
  }

  async #save(saved: Plain): Promise<void> {
    if (Buffer.byteLength(JSON.stringify(saved)) > LIMITS.savedBytes) {
      throw new RangeError(`at most ${LIMITS.savedBytes} bytes can be kept`);
    }
    await this.#keep({ saved });
  }

  #listen(tags: readonly string[] | undefined, goesOn: boolean): void {
    if (this.#feed !== undefined) throw new Error('it listens already');
    const fits = tagFilter(tags?.map(String));
    void this.#readEvents(fits, goesOn).catch((error: unknown) => {
      if (this.#stopping.signal.aborted) return;
      this.#fail(`its events are not read: ${textOf(error)}`);
      void this.stop();
    });
  }

  /** Delivers events up to the engine's limit. The others wait in the stream. */
  async #readEvents(fits: (tag: string) => boolean, goesOn: boolean): Promise<void> {
    const { ports, keeper, counts } = this.#parts;
    const { signal } = this.#stopping;
    const feed = await ports.openFeed(fits, goesOn ? keeper.record.position : undefined);
    this.#feed = feed;
    if (goesOn) this.#window.pass(feed.position);
    while (!signal.aborted) {
      await this.#window.room(signal);
      const events = await feed.take(TAKEN_AT_ONCE, TAKE_WAIT_MS);
      for (const notice of feed.takeNotices()) {
        counts.notices += 1;
        this.#lines.line('warn', notice);
      }
      for (const event of events) {
        await this.#window.room(signal);
        const bytes = await this.#bodyOf(event);
        if (signal.aborted) return;
        const { kind, tag, timeMs, position } = event;
        if (bytes === undefined) {
          this.#window.pass(position);
          continue;
        }
        const number = this.#window.add(position, bytes.length);
        counts.sent += 1;
        this.#send({ type: 'event', number, id: position, kind, tag, timeMs, body: bytes });
      }
      if (events.length === 0 && goesOn) this.#window.pass(feed.position);
    }
  }

  /**
   * Fetches the body of an event, and retries during an outage; undefined if it is lost, or at the
   * stop.
   */
  async #bodyOf({ tag, body }: FedEvent): Promise<Uint8Array | undefined> {
    const { signal } = this.#stopping;
    let isReported = false;
    while (!signal.aborted) {
      try {
        return await body();
      } catch (error) {
        if (!isRetryable(error)) return this.#lost(tag, error);
        if (!isReported) this.#lines.line('warn', `event ${tag} has to wait: ${textOf(error)}`);
        isReported = true;
      }
      await sleepUnless(AGAIN_MS, signal);
    }
    return undefined;
  }

  /** A body that is lost must not stop the events after it. */
  #lost(tag: string, error: unknown): undefined {
    this.#parts.counts.lost += 1;
    this.#lines.line('warn', `event ${tag} was left out: ${textOf(error)}`);
  }

  async #keepPosition(): Promise<void> {
    const { position } = this.#window;
    if (position === undefined || position === this.#keptPosition) return;
    this.#keptPosition = position;
    // A failed save is repeated with the next one; until then events may arrive twice.
    await this.#keep({ position }).catch(() => (this.#keptPosition = undefined));
  }

  /** One save after the other. */
  #keep(change: Partial<RecordKeeper['record']>): Promise<void> {
    const { keeper } = this.#parts;
    const kept = this.#keeping.then(() => keeper.keep({ ...keeper.record, ...change }));
    this.#keeping = kept.catch(() => undefined);
    return kept;
  }

  #send(message: ToEngine): void {
    // A process that is just ending receives nothing; `exit` reports its end.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  #logLines(output: Readable | null, level: 'info' | 'warn'): void {
    if (output === null) return;
    createInterface({ input: output }).on('line', (line) => this.#lines.line(level, line));
  }
}

function levelOf(level: unknown): 'info' | 'warn' | 'error' {
  return level === 'warn' || level === 'error' ? level : 'info';
}

/** Accepts a limited number of names and numbers. */
function figuresIn(figures: EngineFigures): EngineFigures {
  const fit = Object.entries(figures).slice(0, LIMITS.figures);
  return Object.fromEntries(
    fit.map(([name, value]) => [
      name.slice(0, 40),
      typeof value === 'number' ? value : String(value).slice(0, 200),
    ]),
  );
}

function textOf(error: unknown): string {
  if (error instanceof WireError) return 'the data of an event must be a map';
  return errorText(error).slice(0, LIMITS.lineChars);
}

/** The entry is TypeScript in the sources and JavaScript in `dist`. */
const IS_SOURCE = import.meta.url.endsWith('.ts');

function entry(): string {
  const name = IS_SOURCE ? 'engine-main.ts' : 'engine-main.js';
  return fileURLToPath(new URL(`../child/${name}`, import.meta.url));
}

function loaderArguments(): string[] {
  return IS_SOURCE ? ['--conditions=source', '--import', 'tsx'] : [];
}
