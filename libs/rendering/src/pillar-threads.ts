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

/** Fetches of git pillars that were asked for. */
const FETCH_MAX_MS = 300_000;

/** Pillars waiting for a thread; beyond it nothing is answered, and the minion asks again. */
const QUEUE_MAX = 400;

/** Makes pillars. */
export interface PillarMaker {
  /** As `Pillars.render`, without any cache. */
  render(asked: SaltMap): Promise<SaltMap>;
}

/** Makes pillars in threads of their own. Git is run by this thread, for all of them. */
export class ThreadedPillars implements PillarMaker {
  readonly #options: MasterOptions;
  readonly #log: (text: string) => void;
  readonly #threads: RenderThreads;
  readonly #checkouts: GitCheckouts;

  /** @param python modules in Python, where the master has some */
  constructor(options: MasterOptions, log: (text: string) => void, python?: PythonCalls) {
    this.#options = options;
    this.#log = log;
    this.#threads = new RenderThreads(threadData(options), QUEUE_MAX, log, python);
    this.#checkouts = new GitCheckouts(gitSettings(options), (text) => log(`error: ${text}`));
  }

  /** @throws MasterUnavailableError where too many wait already */
  async render(asked: SaltMap): Promise<SaltMap> {
    try {
      return unpackMap(await this.#run({ kind: 'pillar', asked: pack(asked) }));
    } catch (cause) {
      if (cause instanceof MasterUnavailableError) throw cause;
      // States must not run on half a pillar: `_errors` is what stops them.
      const text = `Pillar could not be rendered: ${(cause as Error).message}`;
      this.#log(text);
      return mapOf({ _errors: [text] });
    }
  }

  /** The top file for what is asked, or a list of what is wrong with it. */
  async top(asked: SaltMap): Promise<SaltValue> {
    return unpack(await this.#run({ kind: 'top', asked: pack(asked) }));
  }

  /**
   * States by environment, as the saltclass tree in a directory has them for a minion.
   * @throws Error with what is wrong in the tree
   */
  async classTops(tree: string, minion: SaltMap): Promise<SaltMap> {
    return unpackMap(await this.#run({ kind: 'classes', asked: pack(minion), tree }));
  }

  /**
   * Fetches the remotes of git pillars now, or those of a branch, or a URL or name (null: any); by
   * remote true where something came, null where not, false where it failed.
   * @throws Error where it takes longer than five minutes
   */
  updateGit(branch: string | null, repo: string | null): Promise<SaltMap> {
    const { extPillar, gitPillarBranch } = this.#options;
    const signal = AbortSignal.timeout(FETCH_MAX_MS);
    const asked = { branch, repo };
    return this.#checkouts.update(saltValue(extPillar), gitPillarBranch, asked, signal);
  }

  /** When a git pillar was last fetched on this host, or tried, in Unix ms. */
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
