import { parseTag } from '@brine/job';
import { isMap, listOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { RefusedError } from './errors.ts';
import type { ClientEvent } from './event-inbox.ts';
import type { JobReturn } from './load.ts';
import type { Command } from './load.ts';
import type { PublishedCommand } from './load.ts';

/** How long to wait. Times in milliseconds. */
export interface GatherSettings {
  readonly timeoutMs: number;
  readonly gatherJobTimeoutMs: number;
  readonly orderMasters: boolean;
  readonly syndicWaitMs: number;
  /** The part of a batch: of others nothing counts, as all parts share a job id. */
  readonly part?: ReadonlySet<string>;
  /** Returns of minions that nobody expected are given too, as `salt -v` shows them. */
  readonly unexpected: boolean;
  /** Credentials and the like, handed on to `saltutil.find_job`. */
  readonly kwargs?: SaltMap;
}

/** Returns that wait for a list that names them; more are of a fleet that is not asked. */
const HELD_MAX = 100_000;

/** The state of one wait for the returns of a job: who is expected, and who still owes. */
export class Wait {
  readonly #job: PublishedCommand;
  readonly #settings: GatherSettings;
  readonly #minions: Set<string>;
  readonly #found = new Set<string>();
  readonly #missing = new Set<string>();
  /** Returns of minions that no list has named yet. */
  readonly #held = new Map<string, JobReturn>();
  /** When each minion's own time is up. */
  readonly #until = new Map<string, number>();
  readonly #syndicsUntil: number;
  #askAt: number;
  /** True as long as somebody may still run the job; at first unknown, so ask once. */
  #running = true;
  #owing: number;
  findJid: string | undefined;

  constructor(job: PublishedCommand, settings: GatherSettings) {
    const now = Date.now();
    this.#job = job;
    this.#settings = settings;
    this.#minions = new Set(job.minions);
    this.#owing = this.#minions.size;
    this.#askAt = now + settings.timeoutMs;
    this.#syndicsUntil = now + settings.syndicWaitMs;
    for (const id of this.#minions) this.#until.set(id, now + settings.timeoutMs);
  }

  /** True when nobody owes a return any more. */
  isComplete(now: number): boolean {
    if (this.#owing > 0) return false;
    if (!this.#settings.orderMasters) return true;
    return this.#minions.size > 0 && now > this.#syndicsUntil;
  }

  /** True when the time of everybody is up. */
  isOver(now: number): boolean {
    if (this.#running || now < this.#askAt) return false;
    return this.#owed().every((id) => now >= (this.#until.get(id) ?? 0));
  }

  /** When to look again, unix milliseconds. */
  deadline(now: number): number {
    const isWhole = this.#owing === 0 && this.#minions.size > 0;
    if (isWhole && now <= this.#syndicsUntil) return Math.min(this.#askAt, this.#syndicsUntil + 1);
    if (this.#running || now < this.#askAt) return this.#askAt;
    return Math.max(now + 1, ...this.#owed().map((id) => this.#until.get(id) ?? 0));
  }

  mustAsk(now: number): boolean {
    return this.#running && now >= this.#askAt;
  }

  findJobCommand(): Command | undefined {
    const tgt = this.#owed();
    if (tgt.length === 0) return undefined;
    const { kwargs } = this.#settings;
    return {
      tgt,
      tgtType: 'list',
      fun: 'saltutil.find_job',
      arg: [this.#job.jid],
      ...(kwargs === undefined ? {} : { kwargs }),
    };
  }

  /** The question is out; `undefined` where nobody could be asked. */
  asked(findJid: string | undefined): void {
    this.findJid = findJid;
    this.#running = false;
    this.#askAt = Date.now() + this.#settings.gatherJobTimeoutMs;
    if (this.#settings.orderMasters) this.#askAt += this.#settings.syndicWaitMs;
  }

  /** How many minions returned that nobody expected, and that are not given. */
  get unasked(): number {
    return this.#held.size;
  }

  /**
   * Books an event. Its tag says who speaks: the master sees to it that minions fire none of its
   * own, nor those of others; what an event holds beside that is the word of whoever sent it.
   */
  take({ tag, data }: ClientEvent, logError: (text: string) => void): JobReturn[] {
    const { jid } = this.#job;
    const { findJid } = this;
    const told = parseTag(tag);
    if (told.kind === 'syndic') return this.#ofLowerMaster(told, data, logError);
    if (told.kind === 'job-error' && told.jid === jid) {
      throw new RefusedError('AuthorizationError', 'Authorization error occurred');
    }
    if (told.kind === 'job-new' && told.jid === jid) return this.#expectListed(data);
    if (told.kind !== 'job-return' || told.id !== textOf(data, 'id')) return [];
    if (told.jid === findJid) this.#bookFindJob(told.id, data, logError);
    return told.jid === jid ? this.#bookReturn(told.id, data) : [];
  }

  /** A lower master tells whom it expects; that it refused is no answer of the others. */
  #ofLowerMaster(
    { id, tag }: { readonly id: string; readonly tag: string },
    data: SaltMap,
    logError: (text: string) => void,
  ): JobReturn[] {
    if (!this.#settings.orderMasters) return [];
    const told = parseTag(tag);
    if (told.kind === 'syndic') return this.#ofLowerMaster(told, data, logError);
    if (told.kind === 'job-error' && told.jid === this.#job.jid) {
      logError(`the master below ${id} refused the job`);
    }
    const ours = [this.#job.jid, this.findJid];
    return told.kind === 'job-new' && ours.includes(told.jid) ? this.#expectListed(data) : [];
  }

  /** Gives what had returned before a list named it. */
  #expectListed(data: SaltMap): JobReturn[] {
    for (const id of listOf(data, 'missing') ?? []) {
      if (typeof id === 'string') this.#missing.add(id);
    }
    return this.#expect(listOf(data, 'minions') ?? []);
  }

  /** Gives the first return of a minion, if it is expected. */
  #bookReturn(sender: string, data: SaltMap): JobReturn[] {
    const ret = data.get('return');
    const resource = textOf(data, 'resource_id') ?? '';
    // Of a minion nobody speaks but itself; a resource is told by the minion that manages it.
    if (ret === undefined || (resource !== sender && this.#minions.has(resource))) return [];
    if (this.#settings.part?.has(sender) === false) return [];
    const id = resource === '' ? sender : resource;
    if (this.#found.has(id) || this.#held.has(id)) return [];
    const out = textOf(data, 'out');
    const retcode = data.get('retcode');
    const jid = textOf(data, 'jid');
    const found: JobReturn = {
      kind: 'return',
      id,
      ret,
      ...(out === undefined ? {} : { out }),
      ...(retcode === undefined ? {} : { retcode }),
      ...(jid === undefined ? {} : { jid }),
    };
    if (!this.#minions.has(sender) && !this.#settings.unexpected) {
      if (this.#held.size < HELD_MAX) this.#held.set(id, found);
      return [];
    }
    this.#found.add(id);
    if (this.#minions.has(id)) this.#owing -= 1;
    return [found];
  }

  /** Books an answer to find_job. */
  #bookFindJob(id: string, data: SaltMap, logError: (text: string) => void): void {
    if (!this.#minions.has(id)) return;
    const retcode = data.get('retcode');
    if (typeof retcode === 'number' && retcode > 0) {
      logError(`saltutil returning errors on minion ${id}`);
      if (this.#minions.delete(id) && !this.#found.has(id)) this.#owing -= 1;
      return;
    }
    const ret = data.get('return');
    if (!isMap(ret) || ret.size === 0) return;
    const inner = ret.get('return');
    if (isMap(inner) && inner.size === 0) return;
    this.#until.set(id, Date.now() + this.#settings.timeoutMs);
    this.#running = true;
  }

  /** Who has not returned, sorted. */
  never(): string[] {
    const ids = new Set(this.#owed());
    for (const id of this.#missing) if (!this.#found.has(id)) ids.add(id);
    return [...ids].sort();
  }

  #owed(): string[] {
    return [...this.#minions].filter((id) => !this.#found.has(id));
  }

  #expect(ids: readonly SaltValue[]): JobReturn[] {
    const { part } = this.#settings;
    const until = Date.now() + this.#settings.timeoutMs;
    const early: JobReturn[] = [];
    for (const id of ids) {
      if (typeof id !== 'string' || this.#minions.has(id)) continue;
      if (part?.has(id) === false) continue;
      this.#minions.add(id);
      this.#until.set(id, until);
      const held = this.#held.get(id);
      if (held !== undefined) {
        this.#held.delete(id);
        this.#found.add(id);
        early.push(held);
      }
      if (!this.#found.has(id)) this.#owing += 1;
    }
    return early;
  }
}
