import { isMap, mapOf, type SaltMap, textOf } from '@brine/wire';
import type { OwnedRun } from '../owned-run.ts';
import { BatchPlan, type BatchSettings, type BatchStep, settingsOf } from './batch-plan.ts';
import { aboutOf, type BatchAbout, batchEvent, lastNews } from './batch-tale.ts';
import { hasFile, stateForFile } from './stock-batch.ts';

/** What the work of a batch hears. */
export type BatchNews =
  /** A return of the job of the batch. */
  | { readonly kind: 'return'; readonly id: string; readonly retcode: number }
  /** A minion says to a question that it runs the job. */
  | { readonly kind: 'runs'; readonly id: string }
  /** `salt/batch/<jid>/stop` on the event bus, from a stock tool. */
  | { readonly kind: 'stop'; readonly reason: string };

/** What a batch needs from its master. All are within the rights that its caller has now. */
export interface BatchPorts {
  /** Unix milliseconds. */
  now(): number;
  /** Resolves when `wakeMs` (as {@link now}) has come or `wake` was called. */
  sleep(wakeMs: number): { readonly done: Promise<void>; readonly wake: () => void };
  /** The minions that answer a ping of the target; undefined where it means none. */
  ping(): Promise<{ readonly up: readonly string[]; readonly down: readonly string[] } | undefined>;
  /**
   * Publishes the job of the batch to these minions, once for the same ones, and gives those that
   * are expected to return.
   * @throws BatchRefusedError; MasterUnavailableError where it may be tried again
   */
  publish(ids: readonly string[]): Promise<readonly string[]>;
  /** Asks minions whether they run the job; {@link BatchNews} `runs` are the answers. */
  findJob(ids: readonly string[]): Promise<void>;
  /** Hands over news from a time on (as {@link now}), the earlier ones first, until closed. */
  listen(sinceMs: number, onNews: (news: BatchNews) => void): Promise<{ close(): void }>;
  /** Of these minions those that the job cache has returns of, with their retcodes. */
  returned(ids: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Of these minions those that the job cache knows to be published to. */
  publishedTo(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Fires `salt/batch/<jid>/<suffix>`, once for the same `n`. */
  fire(suffix: string, n: number, data: SaltMap): Promise<void>;
  /** Counts and logs that the batch has no state file, as it has more minions than one takes. */
  withoutFile(minions: number): void;
  /** A line for the log. */
  note(text: string, err?: unknown): void;
}

/** The caller may not publish this any more, or the master refuses it for good. */
export class BatchRefusedError extends Error {
  override readonly name = 'BatchRefusedError';
}

/** Events of so long before the last save are read again after a takeover, ms. */
const LOOK_BACK_MS = 5_000;
/** Between two tries while something is away, ms. */
const RETRY_MS = 500;
/** The job cache is asked for so long after a takeover; then the stream alone has to do, ms. */
const CACHE_MS = 20_000;
/** The stream knows for two minutes that it has a message already. */
const KNOWN_TWICE_MS = 100_000;
/** The state file of a batch is written at most so often, ms. */
const FILE_MS = 1_000;

/**
 * Runs a batch to its end, or goes on with one that another process had. Before each publish it
 * saves which minions are about to run. A takeover then publishes to none twice, and never has more
 * in flight than the width.
 * @throws RunLostError when the run is another process's
 */
export async function workBatch(run: OwnedRun, ports: BatchPorts): Promise<void> {
  const { load, settings: given } = orderOf(run);
  const settings = settingsOf(given);
  const work = new BatchWork(run, ports, settings, aboutOf(run.jid, load));
  await work.toTheEnd();
}

/** What a batch was given at its begin: `load` and `settings`, and later its minions. */
function orderOf({ input: fixed }: OwnedRun): {
  readonly load: SaltMap;
  readonly settings: SaltMap;
} {
  const [load, settings] = [fixed.get('load'), fixed.get('settings')];
  if (!isMap(load) || !isMap(settings)) throw new Error('a batch without its order');
  return { load, settings };
}

class BatchWork {
  readonly #run: OwnedRun;
  readonly #ports: BatchPorts;
  readonly #settings: BatchSettings;
  readonly #about: BatchAbout;
  readonly #news: BatchNews[] = [];
  readonly #messages: SaltMap[] = [];
  #wake: () => void = () => undefined;
  #fileMs = -Infinity;

  constructor(run: OwnedRun, ports: BatchPorts, settings: BatchSettings, about: BatchAbout) {
    this.#run = run;
    this.#ports = ports;
    this.#settings = settings;
    this.#about = about;
  }

  async toTheEnd(): Promise<void> {
    const { released: lost } = this.#run;
    const onLost = (): void => this.#wake();
    lost.addEventListener('abort', onLost);
    try {
      const plan = await this.#planned();
      if (plan === undefined) return;
      await this.#carryOut(plan);
    } finally {
      lost.removeEventListener('abort', onLost);
    }
  }

  /** The plan: the saved one, or a new one with the minions that answer a ping. */
  async #planned(): Promise<BatchPlan | undefined> {
    const { input: fixed, data } = this.#run;
    const ids = fixed.get('ids');
    const now = this.#ports.now();
    const saved = data.get('plan');
    if (Array.isArray(ids) && isMap(saved)) {
      const plan = new BatchPlan(ids.filter(isText), this.#settings, now, saved);
      if (plan.seq === 0) await this.#fireNew(plan);
      return plan;
    }
    const found = await this.#untilThere(() => this.#ports.ping());
    if (found instanceof BatchRefusedError || found === undefined || found.up.length === 0) {
      const reason = found instanceof BatchRefusedError ? found.message : undefined;
      await this.#endEmpty(reason, found instanceof BatchRefusedError ? undefined : found?.down);
      return undefined;
    }
    const plan = new BatchPlan(found.up, this.#settings, this.#ports.now());
    const known = new Map(fixed).set('ids', [...found.up]).set('down', [...found.down]);
    await this.#run.saveInput(known, this.#saved(plan));
    // Once: a process that takes the batch over finds its plan.
    if (!hasFile(plan)) this.#ports.withoutFile(plan.ids.length);
    await this.#fireNew(plan);
    return plan;
  }

  async #carryOut(plan: BatchPlan): Promise<void> {
    const run = this.#run;
    const sinceMs = Number(run.data.get('at') ?? this.#ports.now()) - LOOK_BACK_MS;
    const receive = (news: BatchNews): void => {
      this.#news.push(news);
      this.#wake();
    };
    const listening = await this.#untilThere(() => this.#ports.listen(sinceMs, receive));
    if (listening instanceof BatchRefusedError) throw listening;
    try {
      run.onMessage((message) => {
        this.#messages.push(message);
        this.#wake();
      });
      await this.#catchUp(plan, sinceMs);
      while (await this.#step(plan)) {
        const { done, wake } = this.#ports.sleep(plan.wakeMs());
        this.#wake = wake;
        // What came while the step was saved is taken at once.
        if (this.#news.length > 0 || this.#messages.length > 0 || run.released.aborted) wake();
        await done;
      }
    } finally {
      listening.close();
    }
  }

  /** After a takeover: what came meanwhile, and the part that may not be published yet. */
  async #catchUp(plan: BatchPlan, sinceMs: number): Promise<void> {
    if (plan.seq === 0) return;
    const untilMs = this.#ports.now() + CACHE_MS;
    const { active, unpublished } = plan;
    const returned =
      active.length === 0
        ? undefined
        : await this.#fromCache(untilMs, () => this.#ports.returned(active));
    for (const [id, retcode] of returned ?? []) this.#news.push({ kind: 'return', id, retcode });
    if (unpublished.length > 0) await this.#publishAgain(plan, sinceMs, returned);
    // Again: the other process may have died before it fired this. Readers know it by its number.
    await this.#fire('progress', plan);
  }

  /** Publishes the part that the other process was about to, unless it did. */
  async #publishAgain(
    plan: BatchPlan,
    sinceMs: number,
    returned: ReadonlyMap<string, number> | undefined,
  ): Promise<void> {
    const { unpublished } = plan;
    // Within two minutes the stream itself knows a part that it has already.
    const isOld = this.#ports.now() - sinceMs > KNOWN_TWICE_MS;
    const known = isOld
      ? await this.#fromCache(Infinity, () => this.#ports.publishedTo(unpublished))
      : undefined;
    const isThere = unpublished.some((id) => known?.has(id) === true || returned?.has(id) === true);
    if (!isThere) await this.#publish(plan, unpublished);
    plan.confirmPublished();
  }

  /** Asks the job cache until it answers or the time is up. */
  async #fromCache<T>(untilMs: number, ask: () => Promise<T>): Promise<T | undefined> {
    for (;;) {
      this.#run.check();
      try {
        return await ask();
      } catch (err) {
        if (this.#ports.now() > untilMs) {
          this.#ports.note(`batch ${this.#run.jid} goes on without the job cache`, err);
          return undefined;
        }
        await this.#pause();
      }
    }
  }

  /** One step: what has come, what is next. False when the batch is over. */
  async #step(plan: BatchPlan): Promise<boolean> {
    this.#run.check();
    const now = this.#ports.now();
    let changed = this.#takeMessages(plan);
    const finished: string[] = [];
    for (const news of this.#news.splice(0)) {
      if (news.kind === 'runs') plan.runs(news.id, now);
      else if (news.kind === 'stop') plan.halt(news.reason);
      // After a halt the others in flight are left alone, as in Salt.
      else if (plan.halted === undefined && plan.returned(news.id, news.retcode, now)) {
        finished.push(news.id);
      }
    }
    const silent = plan.halted === undefined ? plan.expire(now) : [];
    const ask = plan.halted === undefined ? plan.toAsk(now) : [];
    const dispatched = plan.dispatch(now);
    changed ||= finished.length + silent.length + dispatched.length > 0;
    if (ask.length > 0) void this.#ask(ask);
    if (changed) await this.#take(plan, { dispatched, finished, silent });
    if (!plan.isOver) return true;
    await this.#end(plan);
    return false;
  }

  /** Saves a step, publishes what it gives out, and tells of it. */
  async #take(plan: BatchPlan, step: BatchStep): Promise<void> {
    plan.step(step);
    await this.#run.save(this.#saved(plan));
    if (step.dispatched.length > 0) {
      await this.#publish(plan, step.dispatched);
      plan.confirmPublished();
      await this.#run.save(this.#saved(plan));
    }
    await this.#fire('progress', plan);
  }

  async #publish(plan: BatchPlan, ids: readonly string[]): Promise<void> {
    const expected = await this.#untilThere(() => this.#ports.publish(ids));
    if (expected instanceof BatchRefusedError) {
      plan.halt(expected.message);
      return;
    }
    const known = new Set(expected);
    for (const id of ids) if (!known.has(id)) plan.unreachable(id, this.#ports.now());
  }

  /** A question that can not be sent counts as unanswered: the wait must come to its end. */
  async #ask(ids: readonly string[]): Promise<void> {
    try {
      await this.#ports.findJob(ids);
    } catch (err) {
      this.#ports.note(`batch ${this.#run.jid} could not ask what still runs`, err);
    }
  }

  #takeMessages(plan: BatchPlan): boolean {
    let changed = false;
    for (const message of this.#messages.splice(0)) {
      const what = textOf(message, 'what');
      if (what === 'stop') plan.halt(textOf(message, 'reason') ?? 'stop');
      if (what === 'pause' || what === 'resume') changed = plan.pause(what === 'pause') || changed;
    }
    return changed;
  }

  async #end(plan: BatchPlan): Promise<void> {
    await this.#fire(plan.halted === undefined ? 'complete' : 'halted', plan);
    // With the plan: who follows the batch late learns from it which minions were silent.
    await this.#run.end(this.#saved(plan));
  }

  /** The end of a batch that had no minion to run on. */
  async #endEmpty(reason: string | undefined, down: readonly string[] = []): Promise<void> {
    const plan = new BatchPlan([], this.#settings, this.#ports.now());
    if (reason !== undefined) plan.halt(reason);
    await this.#fire('new', plan, mapOf({ down: [...down] }));
    await this.#end(plan);
  }

  async #fireNew(plan: BatchPlan): Promise<void> {
    const down = this.#run.input.get('down');
    await this.#fire('new', plan, mapOf({ down: Array.isArray(down) ? down : [] }));
  }

  async #fire(suffix: string, plan: BatchPlan, more = mapOf({})): Promise<void> {
    const now = this.#ports.now();
    const data = batchEvent(suffix, this.#about, plan, now, more);
    if (suffix !== 'progress' || now - this.#fileMs >= FILE_MS) {
      this.#fileMs = now;
      const state = stateForFile(this.#about, plan, now);
      if (state !== undefined) data.set('state', state);
    }
    await this.#untilThere(() => this.#ports.fire(suffix, plan.seq, data));
  }

  #saved(plan: BatchPlan): SaltMap {
    const now = this.#ports.now();
    return new Map([...lastNews(this.#about, plan, now), ['plan', plan.saved()], ['at', now]]);
  }

  /** Tries until it works or is refused for good; a run that is lost ends it. */
  async #untilThere<T>(act: () => Promise<T>): Promise<T | BatchRefusedError> {
    for (let tries = 0; ; tries += 1) {
      this.#run.check();
      try {
        return await act();
      } catch (err) {
        if (err instanceof BatchRefusedError) return err;
        if (tries === 0) this.#ports.note(`batch ${this.#run.jid} has to try again`, err);
        await this.#pause();
      }
    }
  }

  async #pause(): Promise<void> {
    await this.#ports.sleep(this.#ports.now() + RETRY_MS).done;
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
