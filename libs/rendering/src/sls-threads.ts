import { fileURLToPath } from 'node:url';
import type { MasterOptions } from '@brine/config';
import { MasterUnavailableError } from '@brine/master';
import { PythonCallError, type PythonCalls, serveBlocking } from '@brine/python-host';
import {
  listOf,
  mapIn,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  textOf,
  unpackMap,
} from '@brine/wire';
import { Piscina } from 'piscina';
import { threadData } from './compiler-threads.ts';
import { FILE, RUNNER } from './sls-questions.ts';
import type { SlsResult, SlsTask } from './sls-thread.ts';

/** A file that takes longer is given up, its thread ended. */
const RENDER_MAX_MS = 45_000;

/** Files that render at once. */
export const SLS_THREADS = 2;

/** Files waiting for a thread; beyond it a run ends with a text. */
const QUEUE_MAX = 100;

/** Bytes of one file, and of all data that a file may render to. */
const FILE_MAX_BYTES = 16 * 1024 * 1024;
const ANSWER_MAX_BYTES = 32 * 1024 * 1024;

/** What files of states need from the worker while they render. */
export interface SlsNeeds {
  /** A piece of a file of the file server from an offset on; empty at its end. */
  piece(saltenv: string, path: string, loc: number): Promise<Uint8Array | undefined>;
  /** Runs a runner for `salt['saltutil.runner']`. */
  runner(fun: string, args: readonly SaltValue[], kwargs: SaltMap): Promise<SaltValue>;
}

/** Renders files of states, for the master's own minion, in threads of their own. */
export class ThreadedSls {
  readonly #options: MasterOptions;
  readonly #niceness: number | undefined;
  readonly #log: (text: string) => void;
  readonly #python: PythonCalls | undefined;
  #pool: Piscina<SlsTask, SlsResult> | undefined;

  /**
   * @param python modules in Python, where the master has some
   * @param how with the niceness of the threads, as `nice` has it
   */
  constructor(
    options: MasterOptions,
    log: (text: string) => void,
    python?: PythonCalls,
    how: { readonly niceness?: number } = {},
  ) {
    this.#options = options;
    this.#log = log;
    this.#python = python;
    this.#niceness = how.niceness;
  }

  /**
   * Renders a file (`sls`, `path` and `defaults`), or calls a function of templates (`fun`). Gives
   * `value`, or `error` in Salt's words with its `kind`.
   * @throws MasterUnavailableError where too many wait already
   */
  async ask(asked: SaltMap, needs: SlsNeeds): Promise<SaltMap> {
    const threads = this.#threads();
    if (threads.queueSize >= QUEUE_MAX) throw new MasterUnavailableError('too many renders wait');
    const way = serveBlocking({
      call: (use, op, given) => {
        if (op === FILE) return readFile(needs, given);
        if (op === RUNNER) return runRunner(needs, given);
        if (this.#python !== undefined) return this.#python.call(use, op, given);
        return Promise.reject(new PythonCallError('unknown', `no such operation: ${op}`));
      },
    });
    try {
      const task = { asked: pack(asked), way: way.end, hasPython: this.#python !== undefined };
      const signal = AbortSignal.timeout(RENDER_MAX_MS);
      const result = await threads.run(task, { signal, transferList: [way.end.port] });
      for (const line of result.log) this.#log(line);
      if (result.answer.length > ANSWER_MAX_BYTES) {
        return mapOf({ error: `it renders to more than ${ANSWER_MAX_BYTES} bytes`, kind: 'Limit' });
      }
      return unpackMap(Buffer.from(result.answer));
    } catch (cause) {
      const { name, message } = cause as Error;
      const late = `it took longer than ${RENDER_MAX_MS / 1000} s`;
      return mapOf({ error: name === 'AbortError' ? late : message, kind: name });
    } finally {
      way.close();
    }
  }

  /** Ends the threads. */
  async close(): Promise<void> {
    await this.#pool?.destroy();
  }

  #threads(): Piscina<SlsTask, SlsResult> {
    this.#pool ??= new Piscina<SlsTask, SlsResult>({
      filename: fileURLToPath(new URL('./sls-thread.js', import.meta.url)),
      name: 'runSlsTask',
      workerData: {
        ...threadData(this.#options),
        ...(this.#niceness === undefined ? {} : { niceness: this.#niceness }),
      },
      minThreads: 0,
      maxThreads: SLS_THREADS,
      idleTimeout: 30_000,
    });
    return this.#pool;
  }
}

async function readFile(needs: SlsNeeds, given: SaltMap): Promise<SaltValue> {
  const [saltenv, path] = [textOf(given, 'saltenv') ?? '', textOf(given, 'path') ?? ''];
  const parts: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const piece = await needs.piece(saltenv, path, size);
    if (piece === undefined) return null;
    if (piece.length === 0) return Buffer.concat(parts).toString('utf8');
    parts.push(piece);
    size += piece.length;
    if (size > FILE_MAX_BYTES) throw new Error(`${path} is larger than ${FILE_MAX_BYTES} bytes`);
  }
}

function runRunner(needs: SlsNeeds, given: SaltMap): Promise<SaltValue> {
  const kwargs = mapIn(given, 'kwargs') ?? mapOf({});
  const args = listOf(given, 'args') ?? [];
  return needs.runner(textOf(given, 'fun') ?? '', args, kwargs);
}
