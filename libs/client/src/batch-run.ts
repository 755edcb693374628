import { setTimeout as sleep } from 'node:timers/promises';
import { parseTag } from '@brine/job';
import { isMap, listOf, mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import type { Command } from './command.ts';
import { BatchSizeError, isAway, RefusedError } from './errors.ts';
import type { ClientEvent, EventQueue } from './event-inbox.ts';
import { JobRecords } from './job-records.ts';
import type { LocalClient } from './local-client.ts';

/** How a batch runs. */
export interface BatchSettings {
  /** `10` or `25%`. */
  readonly size: string;
  /** Milliseconds that a slot stays empty after a return (`--batch-wait`). */
  readonly waitMs: number;
  /** Stops after the first return with a retcode other than 0. */
  readonly failhard: boolean;
  /** Number of minions to run on first; the others wait until these have succeeded. */
  readonly canary?: string;
  /** Stops when more minions than this have failed. */
  readonly halt?: string;
  /** The job id of the whole batch; every part runs under it. */
  readonly jid: string;
}

/** A step of a batch, in the order of printing. */
export type BatchStep =
  | { readonly kind: 'no-match' }
  /** The master has the batch and continues it without this command. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'down'; readonly id: string }
  | { readonly kind: 'start'; readonly ids: readonly string[] }
  | {
      readonly kind: 'return';
      readonly id: string;
      readonly ret: SaltValue;
      readonly out?: string;
      readonly retcode: number;
      readonly rawRetcode: SaltValue | undefined;
      readonly jid: string | undefined;
    }
  | { readonly kind: 'silent'; readonly id: string }
  /** Returns whose events were missed and that the job cache lacks or does not show. */
  | { readonly kind: 'unseen'; readonly count: number; readonly retcode: number }
  | { readonly kind: 'halted'; readonly reason: string };

/** A return to show. */
type ReturnStep = BatchStep & { readonly kind: 'return' };

/** After this time without an event the master is asked for the state of the batch. */
const QUIET_MS = 10_000;
/** A return may arrive this long before or after the event that counts it. */
const LATE_RETURN_MS = 3_000;
/** Counted returns that are nowhere are given up after this time without any return. */
const PATIENCE_MS = 30_000;
/** The same limit while the job cache is unreachable. */
const CACHE_AWAY_MS = 600_000;
/** The master may be unreachable for this long. */
const AWAY_MS = 300_000;
/** Maximum of returns kept before they are counted: any minion may send them. */
const EARLY_MAX = 100_000;

/**
 * Number of minions that run at a time (Salt: salt/utils/batch_state.py get_batch_size).
 * @throws BatchSizeError
 */
export function batchSize(spec: string, minions: number): number {
  const percent = /^%*\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*%*$/.exec(spec);
  if (spec.includes('%')) {
    if (percent?.[1] === undefined) throw new BatchSizeError(spec);
    const share = (Number(percent[1]) / 100) * minions;
    return share < 1 ? Math.max(1, Math.ceil(share)) : Math.floor(share);
  }
  if (!/^\s*[+-]?\d+\s*$/.test(spec)) throw new BatchSizeError(spec);
  return Math.max(1, Number(spec));
}

/** The retcode of a return; compound jobs have one per function. */
export function highestRetcode(retcode: SaltValue | undefined): number {
  if (retcode instanceof Map) {
    return Math.max(0, ...[...retcode.values()].map((code) => highestRetcode(code)));
  }
  if (typeof retcode === 'boolean') return retcode ? 1 : 0;
  return typeof retcode === 'number' ? retcode : 0;
}

/**
 * Hands a batch over to the master and returns its job id; undefined if no minion matches.
 * Idempotent: sent twice, the batch begins once.
 * @throws as {@link LocalClient.publish}
 */
async function beginBatch(
  client: LocalClient,
  command: Command,
  settings: BatchSettings,
): Promise<string | undefined> {
  const { jid, size, waitMs, failhard, canary, halt } = settings;
  const { timeoutMs, gatherJobTimeoutMs } = client.waits;
  const batch = mapOf({
    size,
    failhard,
    canary,
    halt,
    wait_ms: waitMs,
    timeout_ms: timeoutMs,
    gather_ms: gatherJobTimeoutMs,
  });
  const reply = await client.order('brine_batch', { ...command, jid }, mapOf({ batch }));
  return reply.get('matched') === false ? undefined : (textOf(reply, 'jid') ?? jid);
}

/**
 * Runs a command on some minions at a time (Salt: salt/cli/batch.py). The workers of the master run
 * the batch; this client follows its events, and queries missed steps.
 * @throws as {@link LocalClient.publish}
 */
export function runBatch(
  client: LocalClient,
  command: Command,
  settings: BatchSettings,
): AsyncGenerator<BatchStep> {
  return followed(client, command, settings, false);
}

/**
 * As {@link runBatch}, for a batch that another process may have begun under this job id. Returns
 * all its steps from the first.
 * @throws as {@link LocalClient.publish}
 */
export function resumeBatch(
  client: LocalClient,
  command: Command,
  settings: BatchSettings,
): AsyncGenerator<BatchStep> {
  return followed(client, command, settings, true);
}

async function* followed(
  client: LocalClient,
  command: Command,
  settings: BatchSettings,
  mayBeKnown: boolean,
): AsyncGenerator<BatchStep> {
  const { jid } = settings;
  const wanted = [`salt/batch/${jid}/`, `salt/job/${jid}/ret/`];
  const events = await client.listen((tag) => wanted.some((prefix) => tag.startsWith(prefix)));
  try {
    const view = new BatchView(client, { ...command, jid }, jid);
    const isKnown = mayBeKnown && (await view.isKnown());
    if (!isKnown && (await beginBatch(client, command, settings)) === undefined) {
      yield { kind: 'no-match' };
      return;
    }
    yield { kind: 'begun' };
    if (isKnown) yield* view.catchUp();
    yield* view.follow(events);
  } finally {
    events.close();
  }
}

/** Tracks which steps of a batch were shown. */
class BatchView {
  readonly #client: LocalClient;
  readonly #command: Command;
  readonly #jid: string;
  readonly #started = new Set<string>();
  readonly #shown = new Set<string>();
  /** Returns that the batch has not counted yet. */
  readonly #early = new Map<string, ReturnStep>();
  /** Counted returns that have not arrived yet. */
  readonly #owed = new Set<string>();
  /** Numbers of counted returns, of shown ones, and of those given up. */
  #completed = 0;
  #counted = 0;
  #unseen = 0;
  /** Start of the time in which returns are owed and none was shown, unix ms. */
  #owingSince = Infinity;
  /** Start of the time in which returns are owed and the job cache is unreachable, unix ms. */
  #cacheAwaySince = Infinity;
  /** Start of the time in which the master is unreachable, unix ms. */
  #awaySince = Infinity;
  #seq = 0;
  #halted: string | undefined;
  #isOver = false;

  constructor(client: LocalClient, command: Command, jid: string) {
    this.#client = client;
    this.#command = command;
    this.#jid = jid;
  }

  /** True if the master has this batch, running or ended. */
  async isKnown(): Promise<boolean> {
    for (;;) {
      try {
        return (await this.#state()) !== undefined;
      } catch (error) {
        this.#bear(error);
        await sleep(LATE_RETURN_MS);
      }
    }
  }

  async *follow(events: EventQueue): AsyncGenerator<BatchStep> {
    let [sinceMs, before] = [Date.now(), this.#place];
    while (!this.#isOver || this.#owing > 0) {
      // Only events with news show that events of the batch arrive.
      if (this.#place !== before) [sinceMs, before] = [Date.now(), this.#place];
      const untilMs = sinceMs + (this.#owing > 0 ? LATE_RETURN_MS : QUIET_MS);
      const event = Date.now() < untilMs ? await events.next(untilMs) : undefined;
      if (event !== undefined) yield* this.#take(event);
      else {
        yield* this.catchUp();
        sinceMs = Date.now();
      }
    }
    if (this.#halted !== undefined) yield { kind: 'halted', reason: this.#halted };
  }

  /** The known progress of the batch. */
  get #place(): string {
    return `${this.#seq} ${this.#counted}`;
  }

  /** Number of counted returns that were neither shown nor given up. */
  get #owing(): number {
    return Math.max(this.#owed.size, this.#completed - this.#counted - this.#unseen);
  }

  async *#take({ tag, data }: ClientEvent): AsyncGenerator<BatchStep> {
    const parsed = parseTag(tag);
    if (parsed.kind === 'job-return') {
      if (parsed.jid === this.#jid) yield* this.#returned(parsed.id, data);
      return;
    }
    const suffix = tag.slice(`salt/batch/${this.#jid}/`.length);
    const brine = mapIn(data, 'brine');
    // Others may fire under this tag too, but only the master sets `brine.seq`.
    const seq = brine?.get('seq');
    if (brine === undefined || typeof seq !== 'number' || this.#isOver) return;
    this.#completed = Math.max(this.#completed, Number(data.get('completed') ?? 0));
    if (suffix === 'new') for (const id of textsIn(brine, 'down')) yield { kind: 'down', id };
    if (suffix === 'progress') {
      if (seq <= this.#seq) return;
      if (seq > this.#seq + 1) {
        yield* this.catchUp();
        return;
      }
      this.#seq = seq;
      yield* this.#step(brine);
    }
    if (suffix !== 'complete' && suffix !== 'halted') return;
    if (seq > this.#seq) yield* this.catchUp();
    // The master did not answer: the next query finds the end.
    if (seq > this.#seq) return;
    this.#isOver = true;
    if (suffix === 'halted') this.#halted = textOf(data, 'reason') ?? 'stop';
  }

  /** Shows a step of the batch: minions that start come before the return that freed their slot. */
  *#step(brine: SaltMap): Generator<BatchStep> {
    yield* this.#start(textsIn(brine, 'dispatched'));
    for (const id of textsIn(brine, 'finished')) {
      const early = this.#early.get(id);
      if (early === undefined) this.#owed.add(id);
      else yield* this.#show(early);
    }
    for (const id of textsIn(brine, 'silent')) {
      this.#shown.add(id);
      yield { kind: 'silent', id };
    }
  }

  *#start(ids: readonly string[]): Generator<BatchStep> {
    const fresh = ids.filter((id) => !this.#started.has(id));
    for (const id of fresh) this.#started.add(id);
    if (fresh.length > 0) yield { kind: 'start', ids: fresh };
  }

  *#show(step: ReturnStep): Generator<BatchStep> {
    this.#early.delete(step.id);
    this.#owed.delete(step.id);
    if (this.#shown.has(step.id)) return;
    this.#shown.add(step.id);
    this.#counted += 1;
    this.#owingSince = Infinity;
    yield step;
  }

  *#returned(id: string, data: SaltMap): Generator<BatchStep> {
    if (textOf(data, 'id') !== id || this.#shown.has(id)) return;
    const step = returnStep(id, data, data.get('return'));
    if (step === undefined) return;
    if (this.#owed.has(id)) yield* this.#show(step);
    else if (!this.#early.has(id) && this.#early.size < EARLY_MAX) this.#early.set(id, step);
  }

  /** Asks the master for the state of the batch, and the job cache for missed returns. */
  async *catchUp(): AsyncGenerator<BatchStep> {
    let state: SaltMap | undefined;
    try {
      state = await this.#state();
    } catch (error) {
      // The batch continues meanwhile; query again after the next quiet time.
      this.#bear(error);
      return;
    }
    if (state === undefined) {
      throw new RefusedError('SaltClientError', `The master does not know the batch ${this.#jid}`);
    }
    const seq = Number(state.get('seq') ?? 0);
    const isEnded = state.get('ended') === true;
    this.#completed = Math.max(this.#completed, Number(state.get('completed') ?? 0));
    if (seq > this.#seq || this.#owing > 0 || isEnded) yield* this.#missed(state);
    this.#seq = Math.max(this.#seq, seq);
    if (!isEnded) return;
    this.#isOver = true;
    if (state.get('halted') === true) this.#halted ??= textOf(state, 'halted_reason') ?? 'stop';
  }

  async #state(): Promise<SaltMap | undefined> {
    const more = mapOf({ follow: this.#jid });
    const reply = await this.#client.order('brine_batch', this.#command, more);
    this.#awaySince = Infinity;
    return mapIn(reply, 'state');
  }

  /** Tolerates an unreachable master for AWAY_MS. @throws the error after that */
  #bear(error: unknown): void {
    const now = Date.now();
    this.#awaySince = Math.min(this.#awaySince, now);
    if (!isAway(error) || now - this.#awaySince >= AWAY_MS) throw error;
  }

  async *#missed(state: SaltMap): AsyncGenerator<BatchStep> {
    const plan = mapIn(state, 'plan') ?? mapOf({});
    const silent = textsIn(plan, 'silent');
    const active = textsIn(plan, 'active');
    let kept: SaltMap | undefined;
    let isRefused = false;
    try {
      kept = await new JobRecords(this.#client).returns(this.#jid);
    } catch (error) {
      // A caller with limited rights may not query the job cache. An unreachable one may return.
      isRefused = !isAway(error);
      if (isRefused && !(error instanceof RefusedError)) throw error;
    }
    const others: ReadonlySet<SaltValue> = new Set([...active, ...silent]);
    const back = [...(kept ?? [])].filter(
      (entry): entry is [string, SaltMap] =>
        typeof entry[0] === 'string' && !others.has(entry[0]) && isMap(entry[1]),
    );
    yield* this.#start([...back.map(([id]) => id), ...active, ...silent]);
    for (const [id, data] of back) {
      const whole = new Map(data).set('jid', this.#jid);
      const step = returnStep(id, whole, data.get('return'));
      if (step !== undefined) yield* this.#show(step);
    }
    for (const id of silent) {
      if (!this.#shown.has(id)) yield { kind: 'silent', id };
      this.#shown.add(id);
    }
    if (isRefused || this.#isOverdue(kept !== undefined)) {
      yield this.#giveUp(Number(state.get('retcode') ?? 0));
    }
  }

  /** True if owed returns have been awaited long enough. */
  #isOverdue(isCacheThere: boolean): boolean {
    const now = Date.now();
    const isOwing = this.#owing > 0;
    this.#owingSince = isOwing && isCacheThere ? Math.min(this.#owingSince, now) : Infinity;
    this.#cacheAwaySince =
      isOwing && !isCacheThere ? Math.min(this.#cacheAwaySince, now) : Infinity;
    const isCacheLost = now - this.#cacheAwaySince >= CACHE_AWAY_MS;
    return isCacheLost || now - this.#owingSince >= PATIENCE_MS;
  }

  /** Gives up owed returns that the job cache does not have either. */
  #giveUp(retcode: number): BatchStep {
    const count = this.#owing;
    this.#owed.clear();
    this.#unseen += Math.max(0, this.#completed - this.#counted - this.#unseen);
    return { kind: 'unseen', count, retcode };
  }
}

function returnStep(id: string, data: SaltMap, ret: SaltValue | undefined): ReturnStep | undefined {
  if (ret === undefined) return undefined;
  const out = textOf(data, 'out');
  const rawRetcode = data.get('retcode');
  return {
    kind: 'return',
    id,
    ret,
    rawRetcode,
    retcode: highestRetcode(rawRetcode),
    jid: textOf(data, 'jid'),
    ...(out === undefined ? {} : { out }),
  };
}

function textsIn(map: SaltMap, name: string): string[] {
  return (listOf(map, name) ?? []).filter((text) => typeof text === 'string');
}
