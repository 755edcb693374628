import { parseTag } from '@brine/job';
import { isMap, listOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import type { Command, JobReturn, PublishedCommand } from './command.ts';
import { RefusedError } from './errors.ts';
import type { ClientEvent, EventQueue } from './event-inbox.ts';

/** How long to wait. Times in milliseconds. */
export interface GatherSettings {
  readonly timeoutMs: number;
  readonly gatherJobTimeoutMs: number;
  readonly orderMasters: boolean;
  readonly syndicWaitMs: number;
  /** The minions of this part of a batch. Others are ignored: all parts share one job id. */
  readonly part?: ReadonlySet<string>;
  /** Gives returns of minions that were not targeted too, as `salt -v` shows them. */
  readonly unexpected: boolean;
  /** Credentials and the like, handed on to `saltutil.find_job`. */
  readonly kwargs?: SaltMap;
}

/** Returns kept until a list names their minions. More can only come from minions not asked. */
const UNLISTED_MAX = 100_000;

type Publish = (command: Command, into: EventQueue) => Promise<PublishedCommand | undefined>;

/**
 * Waits for the returns of a job. When the time is up, `saltutil.find_job` asks the minions that
 * still owe one whether they run it. While one does, the wait continues (Salt:
 * salt/client/__init__.py get_iter_returns).
 * @throws RefusedError if an event of the job reports that the master refused it
 */
export async function* gatherReturns(
  job: PublishedCommand,
  publish: Publish,
  settings: GatherSettings,
  { logError }: { readonly logError: (text: string) => void },
): AsyncGenerator<JobReturn> {
  const { events } = job;
  if (events === undefined) throw new Error('the job was published without listening');
  const wait = new Wait(job, settings);
  try {
    while (!wait.isComplete(Date.now())) {
      const event = await events.next(wait.deadline(Date.now()));
      if (event !== undefined) {
        yield* wait.take(event, logError);
        continue;
      }
      if (wait.isOver(Date.now())) break;
      if (wait.mustAsk(Date.now())) {
        const command = wait.findJobCommand();
        wait.asked(command === undefined ? undefined : await askQuietly(publish, command, events));
      }
    }
  } finally {
    events.close();
  }
  const { unlisted } = wait;
  if (unlisted === 1) logError('1 minion returned that was not asked');
  if (unlisted > 1) logError(`${unlisted} minions returned that were not asked`);
  for (const id of wait.silent()) yield silence(id, wait.isUnknown(id));
}

function silence(id: string, isUnknown: boolean): JobReturn {
  return { kind: 'missing', id, ...(isUnknown ? { unknown: true } : {}) };
}

/** A find_job that cannot be sent counts as unanswered, so that the wait ends. */
async function askQuietly(
  publish: Publish,
  command: Command,
  events: EventQueue,
): Promise<string | undefined> {
  try {
    return (await publish(command, events))?.jid;
  } catch {
    // After any error the missing minions are reported as such.
    return undefined;
  }
}

/** One wait for the returns of a job: which minions are expected, and which still owe one. */
class Wait {
  readonly #job: PublishedCommand;
  readonly #settings: GatherSettings;
  readonly #minions: Set<string>;
  readonly #found = new Set<string>();
  readonly #missing: Set<string>;
  /** Returns of minions that no list has named yet. */
  readonly #unlisted = new Map<string, JobReturn>();
  /** When each minion's own time is up. */
  readonly #until = new Map<string, number>();
  readonly #syndicsUntil: number;
  #askAt: number;
  /** True while a minion may still run the job. At first that is unknown, so ask once. */
  #running = true;
  #owing: number;
  findJid: string | undefined;

  constructor(job: PublishedCommand, settings: GatherSettings) {
    const now = Date.now();
    this.#job = job;
    this.#settings = settings;
    this.#minions = new Set(job.minions);
    // Inside of a master the event that names them does not arrive here.
    this.#missing = new Set(job.missing);
    this.#owing = this.#minions.size;
    this.#askAt = now + settings.timeoutMs;
    this.#syndicsUntil = now + settings.syndicWaitMs;
    for (const id of this.#minions) this.#until.set(id, now + settings.timeoutMs);
  }

  /** True when no minion owes a return any more. */
  isComplete(now: number): boolean {
    if (this.#owing > 0) return false;
    if (!this.#settings.orderMasters) return true;
    return this.#minions.size > 0 && now > this.#syndicsUntil;
  }

  /** True when the time of every minion is up. */
  isOver(now: number): boolean {
    if (this.#running || now < this.#askAt) return false;
    return this.#owed().every((id) => now >= (this.#until.get(id) ?? 0));
  }

  /** Time of the next check, unix milliseconds. */
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

  /** Records that find_job was sent; `undefined` if no minion could be asked. */
  asked(findJid: string | undefined): void {
    this.findJid = findJid;
    this.#running = false;
    this.#askAt = Date.now() + this.#settings.gatherJobTimeoutMs;
    if (this.#settings.orderMasters) this.#askAt += this.#settings.syndicWaitMs;
  }

  /** Number of minions that returned without being listed. Their returns are dropped. */
  get unlisted(): number {
    return this.#unlisted.size;
  }

  /**
   * Takes an event. Its tag names the sender: the master lets no minion fire the tags of the master
   * or of another minion. The data of the event is only a claim of that sender.
   */
  take({ tag, data }: ClientEvent, logError: (text: string) => void): JobReturn[] {
    const { jid } = this.#job;
    const { findJid } = this;
    const event = parseTag(tag);
    if (event.kind === 'syndic') return this.#ofLowerMaster(event, data, logError);
    if (event.kind === 'job-error' && event.jid === jid) {
      throw new RefusedError('AuthorizationError', 'Authorization error occurred');
    }
    if (event.kind === 'job-new' && event.jid === jid) return this.#expectListed(data);
    if (event.kind !== 'job-return' || event.id !== textOf(data, 'id')) return [];
    if (event.jid === findJid) this.#takeFindJob(event.id, data, logError);
    return event.jid === jid ? this.#takeReturn(event.id, data) : [];
  }

  /** A lower master lists its expected minions. Its refusal does not end the wait. */
  #ofLowerMaster(
    { id, tag }: { readonly id: string; readonly tag: string },
    data: SaltMap,
    logError: (text: string) => void,
  ): JobReturn[] {
    if (!this.#settings.orderMasters) return [];
    const event = parseTag(tag);
    if (event.kind === 'syndic') return this.#ofLowerMaster(event, data, logError);
    if (event.kind === 'job-error' && event.jid === this.#job.jid) {
      logError(`the master below ${id} refused the job`);
    }
    const ours = [this.#job.jid, this.findJid];
    return event.kind === 'job-new' && ours.includes(event.jid) ? this.#expectListed(data) : [];
  }

  /** Expects the listed minions. Gives the returns that came before the list. */
  #expectListed(data: SaltMap): JobReturn[] {
    for (const id of listOf(data, 'missing') ?? []) {
      if (typeof id === 'string') this.#missing.add(id);
    }
    return this.#expect(listOf(data, 'minions') ?? []);
  }

  /** Gives the first return of a minion, if the minion is expected. */
  #takeReturn(sender: string, data: SaltMap): JobReturn[] {
    const ret = data.get('return');
    const resource = textOf(data, 'resource_id') ?? '';
    // Only a minion itself returns for it. A resource returns through the minion that manages it.
    if (ret === undefined || (resource !== sender && this.#minions.has(resource))) return [];
    if (this.#settings.part?.has(sender) === false) return [];
    const id = resource === '' ? sender : resource;
    if (this.#found.has(id) || this.#unlisted.has(id)) return [];
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
      if (this.#unlisted.size < UNLISTED_MAX) this.#unlisted.set(id, found);
      return [];
    }
    this.#found.add(id);
    if (this.#minions.has(id)) this.#owing -= 1;
    return [found];
  }

  /** Takes an answer to find_job. */
  #takeFindJob(id: string, data: SaltMap, logError: (text: string) => void): void {
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

  /** The minions that did not return, sorted. */
  silent(): string[] {
    const ids = new Set(this.#owed());
    for (const id of this.#missing) if (!this.#found.has(id)) ids.add(id);
    return [...ids].sort();
  }

  /** True if no list contains it: neither the master nor a lower one knows it. */
  isUnknown(id: string): boolean {
    return !this.#minions.has(id);
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
      const known = this.#unlisted.get(id);
      if (known !== undefined) {
        this.#unlisted.delete(id);
        this.#found.add(id);
        early.push(known);
      }
      if (!this.#found.has(id)) this.#owing += 1;
    }
    return early;
  }
}

/** Salt's line for a target that matches no minion (salt/cli/salt.py), with its line end. */
export const NO_MATCH =
  'No minions matched the target. No command was sent, no jid was assigned.\n';

/** The text of a minion that did not return (Salt: get_cli_event_returns). */
export function noResponseText(jid: string): string {
  return (
    'Minion did not return. [No response]\n' +
    'The minions may not have all finished running and any remaining minions will return upon ' +
    'completion. To look up the return data for this job later, run the following command:\n\n' +
    `salt-run jobs.lookup_jid ${jid}`
  );
}
