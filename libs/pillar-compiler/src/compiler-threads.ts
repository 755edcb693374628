import { fileURLToPath } from 'node:url';
import type { MasterOptions } from '@brine/config';
import { saltValue } from '@brine/config';
import { MasterUnavailableError } from '@brine/master';
import { mapOf, pack, type SaltMap, type SaltValue, unpack, unpackMap } from '@brine/wire';
import { Piscina } from 'piscina';
import type { PillarResult, PillarTask, PillarThreadData } from './compiler-thread.ts';
import {
  directoriesOf,
  externalsData,
  gpgSettings,
  namedOptions,
  pillarOptions,
} from './pillar-options.ts';

/** A pillar that takes longer is given up, its thread ended: a minion waits no longer either. */
const RENDER_MAX_MS = 45_000;

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
  #pool: Piscina<PillarTask, PillarResult> | undefined;

  constructor(options: MasterOptions, log: (text: string) => void) {
    this.#data = threadData(options);
    this.#log = log;
  }

  /** @throws MasterUnavailableError where too many wait already */
  async render(asked: SaltMap): Promise<SaltMap> {
    const threads = this.#threads();
    if (threads.queueSize >= QUEUE_MAX) throw new MasterUnavailableError('too many pillars wait');
    try {
      const signal = AbortSignal.timeout(RENDER_MAX_MS);
      const result = await threads.run({ minion: pack(asked) }, { signal });
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
    const signal = AbortSignal.timeout(RENDER_MAX_MS);
    const task = { minion: pack(asked), topOnly: true };
    const { pillar } = await this.#threads().run(task, { signal });
    return unpack(Buffer.from(pillar));
  }

  /**
   * States by environment, as the saltclass tree in a directory has them for a minion.
   * @throws Error with what is wrong in the tree
   */
  async classTops(classTree: string, minion: SaltMap): Promise<SaltMap> {
    const threads = this.#threads();
    if (threads.queueSize >= QUEUE_MAX) throw new MasterUnavailableError('too many pillars wait');
    const signal = AbortSignal.timeout(RENDER_MAX_MS);
    const result = await threads.run({ minion: pack(minion), classTree }, { signal });
    for (const line of result.log) this.#log(line);
    return unpackMap(Buffer.from(result.pillar));
  }

  /** Ends the threads. */
  async close(): Promise<void> {
    await this.#pool?.destroy();
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

function threadData(options: MasterOptions): PillarThreadData {
  const opts = namedOptions(options);
  return {
    roots: directoriesOf(options.pillarRoots),
    gpg: gpgSettings(options),
    externals: externalsData(options),
    options: pillarOptions(options),
    packed: pack(mapOf({ opts, extPillar: saltValue(options.extPillar) })),
  };
}
