import { fileURLToPath } from 'node:url';
import type { MasterOptions } from '@brine/config';
import { saltValue } from '@brine/config';
import { MasterUnavailableError } from '@brine/master';
import { type PythonCalls, serveBlocking } from '@brine/python-host';
import { mapOf, pack, type SaltMap, type SaltValue, unpack, unpackMap } from '@brine/wire';
import { Piscina } from 'piscina';
import type { PillarResult, PillarTask } from './compiler-thread.ts';
import {
  directoriesOf,
  externalsData,
  gpgSettings,
  namedOptions,
  pillarOptions,
} from './pillar-options.ts';
import { lastFetchMs } from './sources/git-checkouts.ts';
import type { PillarThreadData } from './thread-start.ts';

/** A pillar that takes longer is given up, its thread ended: a minion waits no longer either. */
const RENDER_MAX_MS = 45_000;

/** Fetches of git pillars that were asked for; they take one of the threads meanwhile. */
const FETCH_MAX_MS = 300_000;

/** Pillars waiting for a thread; beyond it nothing is answered, and the minion asks again. */
const QUEUE_MAX = 400;

/** Makes pillars. */
export interface PillarMaker {
  /** As `Pillars.render`, without any cache. */
  render(asked: SaltMap): Promise<SaltMap>;
}

/** Makes pillars in threads of their own. */
export class ThreadedPillars implements PillarMaker {
  readonly #data: PillarThreadData;
  readonly #log: (text: string) => void;
  readonly #python: PythonCalls | undefined;
  readonly #cacheDir: string;
  #pool: Piscina<PillarTask, PillarResult> | undefined;

  /** @param python modules in Python, where the master has some */
  constructor(options: MasterOptions, log: (text: string) => void, python?: PythonCalls) {
    this.#data = threadData(options);
    this.#log = log;
    this.#python = python;
    this.#cacheDir = options.cachedir;
  }

  /** @throws MasterUnavailableError where too many wait already */
  async render(asked: SaltMap): Promise<SaltMap> {
    const threads = this.#threads();
    if (threads.queueSize >= QUEUE_MAX) throw new MasterUnavailableError('too many pillars wait');
    try {
      const result = await this.#run({ minion: pack(asked) });
      for (const line of result.log) this.#log(line);
      return unpackMap(Buffer.from(result.pillar));
    } catch (cause) {
      // States must not run on half a pillar: `_errors` is what stops them.
      const text = `Pillar could not be rendered: ${(cause as Error).message}`;
      this.#log(text);
      return mapOf({ _errors: [text] });
    }
  }

  /** The top file for what is asked, or a list of what is wrong with it. */
  async top(asked: SaltMap): Promise<SaltValue> {
    const { pillar } = await this.#run({ minion: pack(asked), topOnly: true });
    return unpack(Buffer.from(pillar));
  }

  /**
   * States by environment, as the saltclass tree in a directory has them for a minion.
   * @throws Error with what is wrong in the tree
   */
  async classTops(classTree: string, minion: SaltMap): Promise<SaltMap> {
    const threads = this.#threads();
    if (threads.queueSize >= QUEUE_MAX) throw new MasterUnavailableError('too many pillars wait');
    const result = await this.#run({ minion: pack(minion), classTree });
    for (const line of result.log) this.#log(line);
    return unpackMap(Buffer.from(result.pillar));
  }

  /**
   * Fetches the remotes of git pillars now, or those of a branch, or a URL or name (null: any); by
   * remote true where something came, null where not, false where it failed.
   * @throws Error where it takes longer than five minutes
   */
  async updateGit(branch: string | null, repo: string | null): Promise<SaltMap> {
    const threads = this.#threads();
    if (threads.queueSize >= QUEUE_MAX) throw new MasterUnavailableError('too many pillars wait');
    const signal = AbortSignal.timeout(FETCH_MAX_MS);
    const task = { minion: pack(mapOf({})), gitUpdate: { branch, repo } };
    const result = await threads.run(task, { signal });
    for (const line of result.log) this.#log(line);
    return unpackMap(Buffer.from(result.pillar));
  }

  /** When a git pillar was last fetched on this host, or tried, in Unix ms. */
  gitFetchedMs(): number | undefined {
    return lastFetchMs(this.#cacheDir);
  }

  /** Ends the threads. */
  async close(): Promise<void> {
    await this.#pool?.destroy();
  }

  /** Runs a task; while it runs, its thread has a way to modules in Python. */
  async #run(task: PillarTask): Promise<PillarResult> {
    const signal = AbortSignal.timeout(RENDER_MAX_MS);
    if (this.#python === undefined) return this.#threads().run(task, { signal });
    const way = serveBlocking(this.#python);
    try {
      const transferList = [way.end.port];
      return await this.#threads().run({ ...task, python: way.end }, { signal, transferList });
    } finally {
      way.close();
    }
  }

  #threads(): Piscina<PillarTask, PillarResult> {
    this.#pool ??= new Piscina<PillarTask, PillarResult>({
      filename: fileURLToPath(new URL('./compiler-thread.js', import.meta.url)),
      name: 'runPillarTask',
      workerData: this.#data,
      minThreads: 0,
      maxThreads: 2,
      idleTimeout: 30_000,
    });
    return this.#pool;
  }
}

/** What threads of pillars and of SLS files are started with. */
export function threadData(options: MasterOptions): PillarThreadData {
  const opts = namedOptions(options);
  return {
    roots: directoriesOf(options.pillarRoots),
    fileRoots: directoriesOf(options.fileRoots),
    gpg: gpgSettings(options),
    externals: externalsData(options),
    options: pillarOptions(options),
    packed: pack(mapOf({ opts, extPillar: saltValue(options.extPillar) })),
  };
}
