import { fileURLToPath } from 'node:url';
import { MasterUnavailableError } from '@brine/master';
import { PythonCallError, type PythonCalls, serveBlocking } from '@brine/python-host';
import type { SaltMap, SaltValue } from '@brine/wire';
import { Piscina } from 'piscina';
import type { RenderJob, RenderResult, RenderTask } from './render-task.ts';
import type { ThreadData } from './thread-start.ts';

/** A task that takes longer is given up and its thread ended: no minion waits longer. */
export const RENDER_MAX_MS = 45_000;

/** Tasks that render at once. */
export const RENDER_THREADS = 2;

/** The worker's answers to the questions of a thread (`questions.ts`). */
export type Answers = Readonly<Record<string, (given: SaltMap) => Promise<SaltValue>>>;

/** Threads that render. They start with the first task, and end after a while without any. */
export class RenderThreads {
  readonly #data: ThreadData;
  readonly #queueMax: number;
  readonly #log: (text: string) => void;
  readonly #python: PythonCalls | undefined;
  #pool: Piscina<RenderJob, RenderResult> | undefined;

  /**
   * @param queueMax tasks that wait for a thread at most
   * @param python modules in Python, if the master has any
   */
  constructor(
    data: ThreadData,
    queueMax: number,
    log: (text: string) => void,
    python: PythonCalls | undefined,
  ) {
    this.#data = data;
    this.#queueMax = queueMax;
    this.#log = log;
    this.#python = python;
  }

  /**
   * The result of a task, as msgpack.
   * @throws MasterUnavailableError if too many wait already
   * @throws Error if the task fails, or takes too long (AbortError)
   */
  async run(task: RenderTask, answers: Answers): Promise<Buffer> {
    const pool = this.#started();
    if (pool.queueSize >= this.#queueMax) throw new MasterUnavailableError('too many renders wait');
    const way = serveBlocking({
      call: (use, op, given) => {
        const answer = answers[op];
        if (answer !== undefined) return answer(given);
        if (this.#python !== undefined) return this.#python.call(use, op, given);
        return Promise.reject(new PythonCallError('unknown', `no such operation: ${op}`));
      },
    });
    try {
      const job = { task, way: way.end, hasPython: this.#python !== undefined };
      const signal = AbortSignal.timeout(RENDER_MAX_MS);
      const result = await pool.run(job, { signal, transferList: [way.end.port] });
      for (const line of result.log) this.#log(line);
      return Buffer.from(result.packed);
    } finally {
      way.close();
    }
  }

  /** Ends the threads. */
  async close(): Promise<void> {
    await this.#pool?.destroy();
  }

  #started(): Piscina<RenderJob, RenderResult> {
    this.#pool ??= new Piscina<RenderJob, RenderResult>({
      filename: fileURLToPath(new URL('./render-thread.js', import.meta.url)),
      name: 'runRenderTask',
      workerData: this.#data,
      minThreads: 0,
      maxThreads: RENDER_THREADS,
      idleTimeout: 30_000,
    });
    return this.#pool;
  }
}
