import { errorText, sleepUnless, Wakeup } from '@brine/tasks';
import { NetapiError } from '../errors.ts';

/** What followers see of something that is computed, as a window of a list. */
export interface LiveView {
  /** It may not be what was sent last. */
  readonly isStale: boolean;
  /** Computes it; true if there is something to send. @throws NetapiError, BusError */
  compute(): Promise<boolean>;
}

/** A view is computed this often at most, ms. */
const SPACING_MS = 1_000;
/** Whether one is stale is looked at this often, ms. */
const LOOK_MS = 100;
/** Views take a quarter of the time at most: the more there are, the later each comes. */
const REST_SHARE = 3;

interface Kept {
  readonly wake: () => void;
  computedMs: number;
}

/** Computes the views of all followers, one after the other, however often their things change. */
export class LiveViews {
  readonly #onTrouble: (text: string, error: unknown) => void;
  readonly #views = new Map<LiveView, Kept>();
  readonly #stopping = new AbortController();
  readonly #news = new Wakeup();
  #isWorking = false;

  constructor(onTrouble: (text: string, error: unknown) => void) {
    this.#onTrouble = onTrouble;
  }

  /**
   * Computes a view from now on. The returned function ends that.
   * @param wake is called when there is something to send
   */
  add(view: LiveView, wake: () => void): () => void {
    this.#views.set(view, { wake, computedMs: -Infinity });
    this.#news.wake();
    if (!this.#isWorking) void this.#work();
    return () => void this.#views.delete(view);
  }

  close(): void {
    this.#stopping.abort();
    this.#views.clear();
    this.#news.wake();
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      if (this.#views.size === 0) await this.#news.wait();
      const due = this.#due(performance.now());
      await sleepUnless(due === undefined ? LOOK_MS : await this.#compute(due), signal);
    }
  }

  /** The one that was computed longest ago. */
  #due(nowMs: number): LiveView | undefined {
    let due: LiveView | undefined;
    let oldest = nowMs - SPACING_MS;
    for (const [view, { computedMs }] of this.#views) {
      if (computedMs > oldest || !view.isStale) continue;
      due = view;
      oldest = computedMs;
    }
    return due;
  }

  /** Resolves with the ms for which no other one is computed. */
  async #compute(view: LiveView): Promise<number> {
    const begun = performance.now();
    const kept = this.#views.get(view);
    try {
      const isNew = await view.compute();
      // Its followers may have gone meanwhile.
      if (isNew && this.#views.get(view) === kept) kept?.wake();
    } catch (error) {
      // Without a fleet, or a worker that answers, there is nothing to send until the next time.
      if (!(error instanceof NetapiError)) {
        this.#onTrouble(`a view of a stream is not computed: ${errorText(error)}`, error);
      }
    }
    const now = performance.now();
    if (kept !== undefined) kept.computedMs = now;
    return Math.min((now - begun) * REST_SHARE, SPACING_MS);
  }
}
