import type { MasterOptions } from '@brine/config';
import { saltValue } from '@brine/config';
import { MasterUnavailableError } from '@brine/master';
import type { PythonCalls } from '@brine/python-host';
import {
  listOf,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  textOf,
  unpack,
  unpackMap,
} from '@brine/wire';
import { gitSettings, threadData } from './pillar-options.ts';
import { GitCheckouts, lastFetchMs } from './sources/git-checkouts.ts';
import { CHECKOUT } from './threads/questions.ts';
import type { RenderTask } from './threads/render-task.ts';
import { RenderThreads } from './threads/render-threads.ts';

/** Longest fetch of git pillars that an operator asked for. */
const FETCH_MAX_MS = 300_000;

/** Pillars waiting for a thread; further requests get no answer, and the minion asks again. */
const QUEUE_MAX = 400;

/** Makes pillars. */
export interface PillarMaker {
  /** As `Pillars.render`, without any cache. */
  render(asked: SaltMap): Promise<SaltMap>;
}

/** Makes pillars in threads. Git runs in this thread, for all of them. */
export class ThreadedPillars implements PillarMaker {
  readonly #options: MasterOptions;
  readonly #log: (text: string) => void;
  readonly #threads: RenderThreads;
  readonly #checkouts: GitCheckouts;

  /** @param python modules in Python, if the master has any */
  constructor(options: MasterOptions, log: (text: string) => void, python?: PythonCalls) {
    this.#options = options;
    this.#log = log;
    this.#threads = new RenderThreads(threadData(options), QUEUE_MAX, log, python);
    this.#checkouts = new GitCheckouts(gitSettings(options), (text) => log(`error: ${text}`));
  }

  /** @throws MasterUnavailableError if too many wait already */
  async render(asked: SaltMap): Promise<SaltMap> {
    try {
      return unpackMap(await this.#run({ kind: 'pillar', asked: pack(asked) }));
    } catch (cause) {
      if (cause instanceof MasterUnavailableError) throw cause;
      // States must not run on half a pillar: `_errors` stops them.
      const text = `Pillar could not be rendered: ${(cause as Error).message}`;
      this.#log(text);
      return mapOf({ _errors: [text] });
    }
  }

  /** The top file for a request, or the list of its errors. */
  async top(asked: SaltMap): Promise<SaltValue> {
    return unpack(await this.#run({ kind: 'top', asked: pack(asked) }));
  }

  /**
   * States by environment from the saltclass tree in a directory, for a minion.
   * @throws Error with the fault of the tree
   */
  async classTops(tree: string, minion: SaltMap): Promise<SaltMap> {
    return unpackMap(await this.#run({ kind: 'classes', asked: pack(minion), tree }));
  }

  /**
   * Fetches the remotes of git pillars now, or those of a branch, or a URL or name (null: any). For
   * each remote true if something changed, null if not, false if it failed.
   * @throws Error if it takes longer than five minutes
   */
  updateGit(branch: string | null, repo: string | null): Promise<SaltMap> {
    const { extPillar, gitPillarBranch } = this.#options;
    const signal = AbortSignal.timeout(FETCH_MAX_MS);
    const asked = { branch, repo };
    return this.#checkouts.update(saltValue(extPillar), gitPillarBranch, asked, signal);
  }

  /** When a git pillar was last fetched on this host, successfully or not, in Unix ms. */
  gitFetchedMs(): number | undefined {
    return lastFetchMs(this.#options.cachedir);
  }

  /** Ends the threads. */
  async close(): Promise<void> {
    this.#checkouts.close();
    await this.#threads.close();
  }

  #run(task: RenderTask): Promise<Buffer> {
    return this.#threads.run(task, {
      [CHECKOUT]: (given) => {
        const texts = (name: string): string[] => (listOf(given, name) ?? []).map(String);
        const url = textOf(given, 'url') ?? '';
        return this.#checkouts.of({ url, refs: texts('refs'), ownRefs: texts('ownRefs') });
      },
    });
  }
}
