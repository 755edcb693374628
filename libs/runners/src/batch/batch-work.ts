import { isMap, mapOf, type SaltMap, textOf } from '@brine/wire';
import type { OwnedRun } from '../owned-run.ts';
import { BatchPlan, type BatchSettings, type BatchStep, settingsOf } from './batch-plan.ts';
import { aboutOf, type BatchAbout, batchEvent, lastNews } from './batch-tale.ts';
import { hasFile, stateForFile } from './stock-batch.ts';

/** A message for the work of a batch. */
export type BatchNews =
  /** A return of the job of the batch. */
  | { readonly kind: 'return'; readonly id: string; readonly retcode: number }
  /** A minion answers a question: it runs the job. */
  | { readonly kind: 'runs'; readonly id: string }
  /** `salt/batch/<jid>/stop` on the event bus, from a stock tool. */
  | { readonly kind: 'stop'; readonly reason: string };

/** The access of a batch to its master, within the current rights of its caller. */
export interface BatchPorts {
  /** Unix milliseconds. */
  now(): number;
  /** Resolves at `wakeMs` (on the clock of {@link now}) or after `wake`. */
  sleep(wakeMs: number): { readonly done: Promise<void>; readonly wake: () => void };
  /** The minions that answer a ping of the target; undefined if it matches none. */
  ping(): Promise<{ readonly up: readonly string[]; readonly down: readonly string[] } | undefined>;
  /**
   * Publishes the job of the batch to these minions, once per list, and returns those that are
   * expected to return.
   * @throws BatchRefusedError; MasterUnavailableError if a retry may succeed
   */
  publish(ids: readonly string[]): Promise<readonly string[]>;
  /** Asks minions whether they run the job; {@link BatchNews} `runs` are the answers. */
  findJob(ids: readonly string[]): Promise<void>;
  /** Delivers news from a time on (by {@link now}), the earlier ones first, until closed. */
  listen(sinceMs: number, onNews: (news: BatchNews) => void): Promise<{ close(): void }>;
  /** The returns of these minions in the job cache, as retcodes. */
  returned(ids: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Filters minions by the targets of the job in the job cache. */
  publishedTo(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Fires `salt/batch/<jid>/<suffix>`, once per `n`. */
  fire(suffix: string, n: number, data: SaltMap): Promise<void>;
  /** Counts and logs that the batch has too many minions for a state file. */
  withoutFile(minions: number): void;
  /** A line for the log. */
  note(text: string, err?: unknown): void;
}

/** The caller may no longer publish this, or the master refuses it for good. */
export class BatchRefusedError extends Error {
  override readonly name = 'BatchRefusedError';
}

/** After a takeover, events are read again from this time before the last save, ms. */
const LOOK_BACK_MS = 5_000;
/** Delay between two tries in an outage, ms. */
const RETRY_MS = 500;
/** Time to wait for the job cache after a takeover; then only the stream is used, ms. */
const CACHE_MS = 20_000;
/** The stream detects a duplicate message for two minutes. */
const KNOWN_TWICE_MS = 100_000;
/** Shortest interval between two writes of the state file, ms. */
const FILE_MS = 1_000;

/**
 * Runs a batch to its end, or resumes one of another process. Saves before each publish which
 * minions are about to run. So a takeover publishes to none twice, and never has more in flight
 * than the width.
 * @throws RunLostError when another process owns the run
 */
export async function workBatch(run: OwnedRun, ports: BatchPorts): Promise<void> {
  const { load, settings: given } = orderOf(run);
  const settings = settingsOf(given);
  const work = new BatchWork(run, ports, settings, aboutOf(run.jid, load));
  await work.toTheEnd();
}

/** The fixed part of a batch: `load` and `settings`, and later its minions. */
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
        // News that arrived during the save is handled at once.
        if (this.#news.length > 0 || this.#messages.length > 0 || run.released.aborted) wake();
        await done;
      }
    } finally {
      listening.close();
    }
  }

  /** After a takeover: reads missed news, and publishes the part that may be unpublished. */
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
    // Fired again, as the other process may have died before. Readers detect it by its number.
    await this.#fire('progress', plan);
  }

  /** Publishes the part that the other process was about to publish, unless it did. */
  async #publishAgain(
    plan: BatchPlan,
    sinceMs: number,
    returned: ReadonlyMap<string, number> | undefined,
  ): Promise<void> {
    const { unpublished } = plan;
    // Within two minutes the stream itself detects a duplicate part.
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
          this.#ports.note(`batch ${this.#run.jid} continues without the job cache`, err);
          return undefined;
        }
        await this.#pause();
      }
    }
  }

  /** One step: handles news and dispatches. False when the batch is over. */
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

  /** Saves a step, publishes its minions, and fires its event. */
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

  /** A question that can not be sent counts as unanswered: the wait must end. */
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
    // With the plan, which has the silent minions for late followers of the batch.
    await this.#run.end(this.#saved(plan));
  }

  /** Ends a batch without any minion to run on. */
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

  /** Retries until it succeeds or is refused for good; a release of the run ends it. */
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
