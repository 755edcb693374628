import type { MasterOptions } from '@brine/config';
import { MasterUnavailableError } from '@brine/master';
import type { PythonCalls } from '@brine/python-host';
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
import { threadData } from './pillar-options.ts';
import { FILE, RUNNER } from './threads/questions.ts';
import { RENDER_MAX_MS, RenderThreads } from './threads/render-threads.ts';

/** Files waiting for a thread; a further one ends its run with an error. */
const QUEUE_MAX = 100;

/** Bytes of one file, and of all data that it renders to. */
const FILE_MAX_BYTES = 16 * 1024 * 1024;
const ANSWER_MAX_BYTES = 32 * 1024 * 1024;

/** The functions of the worker that files of states need while they render. */
export interface SlsNeeds {
  /** A piece of a file of the file server, from an offset; empty at its end. */
  piece(saltenv: string, path: string, loc: number): Promise<Uint8Array | undefined>;
  /** Runs a runner for `salt['saltutil.runner']`. */
  runner(fun: string, args: readonly SaltValue[], kwargs: SaltMap): Promise<SaltValue>;
}

/** Renders files of states in threads, for the master's own minion. */
export class ThreadedSls {
  readonly #threads: RenderThreads;

  /**
   * @param python modules in Python, if the master has any
   * @param how has the niceness of the threads, as in `nice`
   */
  constructor(
    options: MasterOptions,
    log: (text: string) => void,
    python?: PythonCalls,
    how: { readonly niceness?: number } = {},
  ) {
    this.#threads = new RenderThreads({ ...threadData(options), ...how }, QUEUE_MAX, log, python);
  }

  /**
   * Renders a file (`sls`, `path` and `defaults`), or calls a function of templates (`fun`). Gives
   * `value`, or `error` with Salt's text and its `kind`.
   * @throws MasterUnavailableError if too many wait already
   */
  async ask(asked: SaltMap, needs: SlsNeeds): Promise<SaltMap> {
    try {
      const kind = asked.has('fun') ? 'function' : 'sls';
      const answer = await this.#threads.run(
        { kind, asked: pack(asked) },
        {
          [FILE]: (given) => readFile(needs, given),
          [RUNNER]: (given) => runRunner(needs, given),
        },
      );
      if (answer.length > ANSWER_MAX_BYTES) {
        return mapOf({ error: `it renders to more than ${ANSWER_MAX_BYTES} bytes`, kind: 'Limit' });
      }
      return unpackMap(answer);
    } catch (cause) {
      if (cause instanceof MasterUnavailableError) throw cause;
      const { name, message } = cause as Error;
      const late = `it took longer than ${RENDER_MAX_MS / 1000} s`;
      return mapOf({ error: name === 'AbortError' ? late : message, kind: name });
    }
  }

  /** Ends the threads. */
  close(): Promise<void> {
    return this.#threads.close();
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
