import type { FleetIndex } from '@brine/fleet';
import { isJid } from '@brine/job';
import { errorText, sleepUnless } from '@brine/tasks';
import { boolOf, isMap, listOf, mapIn, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { STATE_RUNS } from './fleet-feed.ts';

/** Questions of one reading: each looks at 200 returns (libs/job-cache pages/past-runs.ts). */
const QUESTIONS_MAX = 5_000;
/** Others have their turns in between, ms. */
const REST_MS = 20;
/** After it failed it is not tried again for this long, ms. */
const AGAIN_MS = 10_000;

/** Asks what is on record about runs of states; null for a caller that may not see it. */
export type AskPastRuns = (args: Readonly<Record<string, SaltValue>>) => Promise<SaltValue>;

interface Progress {
  /** Where it continues. */
  place: SaltMap | undefined;
  questions: number;
  state: 'waits' | 'reads' | 'done';
  notBeforeMs: number;
}

/**
 * Reads the last runs of states that were before this process began, newest first, from the job
 * cache. http-api has no right to that of its own: it asks with the token of a caller that sees all
 * jobs, as soon as there is one, and once. What others see of it is judged as of all runs.
 */
export class PastRuns {
  readonly #onTrouble: (text: string, error: unknown) => void;
  readonly #stopping = new AbortController();
  readonly #progress = new WeakMap<FleetIndex, Progress>();

  constructor(onTrouble: (text: string, error: unknown) => void) {
    this.#onTrouble = onTrouble;
  }

  /** Begins to read, or continues, unless that is done or under way. */
  read(index: FleetIndex, ask: AskPastRuns): void {
    const known = this.#progress.get(index);
    const progress = known ?? { place: undefined, questions: 0, state: 'waits', notBeforeMs: 0 };
    if (progress.state !== 'waits' || performance.now() < progress.notBeforeMs) return;
    this.#progress.set(index, progress);
    void this.#read(index, progress, ask);
  }

  close(): void {
    this.#stopping.abort();
  }

  async #read(index: FleetIndex, progress: Progress, ask: AskPastRuns): Promise<void> {
    progress.state = 'reads';
    try {
      do await this.#ask(index, progress, ask);
      while (!isDone(progress) && (await sleepUnless(REST_MS, this.#stopping.signal)));
      progress.state = 'done';
    } catch (error) {
      progress.state = 'waits';
      progress.notBeforeMs = performance.now() + AGAIN_MS;
      const text = 'earlier runs of states are not all read, which is tried again';
      this.#onTrouble(`${text}: ${errorText(error)}`, error);
    }
  }

  async #ask(index: FleetIndex, progress: Progress, ask: AskPastRuns): Promise<void> {
    const { place } = progress;
    const [jid, id] = [place && textOf(place, 'jid'), place && textOf(place, 'id')];
    const from = jid === undefined || id === undefined ? {} : { jid, id };
    const found = await ask({ funs: [...STATE_RUNS], ...from });
    if (!isMap(found)) throw new Error('the caller sees not all jobs any more');
    for (const run of listOf(found, 'runs') ?? []) if (isMap(run)) takeRun(index, run);
    progress.place = mapIn(found, 'next');
    progress.questions += 1;
  }
}

function isDone({ place, questions }: Progress): boolean {
  return place === undefined || questions >= QUESTIONS_MAX;
}

function takeRun(index: FleetIndex, run: SaltMap): void {
  const [jid, id] = [textOf(run, 'jid'), textOf(run, 'id')];
  const [atMs, would] = [run.get('at'), run.get('would')];
  if (!isJid(jid) || id === undefined || typeof atMs !== 'number') return;
  const known = { jid, at: atMs / 1_000, hasFailed: boolOf(run, 'failed') === true };
  if (boolOf(run, 'isTest') !== true) index.stateRun(id, known);
  else index.testRun(id, { ...known, would: typeof would === 'number' ? would : undefined });
}
