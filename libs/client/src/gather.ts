import { isMap, listOf, textOf, type SaltMap, type SaltValue } from '@brine/wire';
import { RefusedError } from './errors.ts';
import type { ClientEvent, EventQueue } from './event-inbox.ts';
import type { Command } from './load.ts';
import type { PublishedCommand } from './local-client.ts';

/** What a minion returned, or that it did not. */
export type JobReturn =
  | {
      readonly kind: 'return';
      readonly id: string;
      readonly ret: SaltValue;
      readonly out?: string;
      readonly retcode?: SaltValue;
      readonly jid?: string;
    }
  | { readonly kind: 'missing'; readonly id: string };

/** How long to wait. Times in milliseconds. */
export interface GatherSettings {
  readonly timeoutMs: number;
  readonly gatherJobTimeoutMs: number;
  readonly orderMasters: boolean;
  readonly syndicWaitMs: number;
  /** True: only the minions that the job was sent to are waited for (batches share a job id). */
  readonly fixed: boolean;
  /** Credentials and the like, handed on to `saltutil.find_job`. */
  readonly kwargs?: SaltMap;
}

type Publish = (command: Command, into: EventQueue) => Promise<PublishedCommand | undefined>;

/**
 * Waits for the returns of a job. When the time is up, the minions that still owe one are asked
 * by `saltutil.find_job` whether they run it; as long as one does, the wait goes on
 * (Salt: salt/client/__init__.py get_iter_returns).
 * @throws RefusedError where the master tells of an error in the job's events.
 */
export async function* gatherReturns(
  job: PublishedCommand,
  publish: Publish,
  settings: GatherSettings,
  log: { readonly logError: (text: string) => void },
): AsyncGenerator<JobReturn> {
  const { events } = job;
  if (events === undefined) throw new Error('the job was published without listening');
  try {
    yield* gather(job, events, publish, settings, log);
  } finally {
    events.close();
  }
}

async function* gather(
  job: PublishedCommand,
  events: EventQueue,
  publish: Publish,
  settings: GatherSettings,
  log: { readonly logError: (text: string) => void },
): AsyncGenerator<JobReturn> {
  const wait = new Wait(job, settings);
  const returnPrefix = `salt/job/${job.jid}/ret/`;
  for (;;) {
    if (wait.isComplete(Date.now())) break;
    const event = await events.next(wait.deadline(Date.now()));
    if (event !== undefined) {
      const findJid = wait.findJid;
      if (findJid !== undefined && event.tag.startsWith(`salt/job/${findJid}`)) {
        wait.takeFindJob(event, log.logError);
      } else {
        const found = wait.takeReturn(event, returnPrefix);
        if (found !== undefined) yield found;
      }
      continue;
    }
    if (wait.isOver(Date.now())) break;
    if (wait.mustAsk(Date.now())) {
      const command = wait.findJobCommand();
      wait.asked(command === undefined ? undefined : await askQuietly(publish, command, events));
    }
  }
  for (const id of wait.never()) yield { kind: 'missing', id };
}

/** A find_job that cannot be sent counts as unanswered: the wait must come to its end. */
async function askQuietly(
  publish: Publish,
  command: Command,
  events: EventQueue,
): Promise<string | undefined> {
  try {
    return (await publish(command, events))?.jid;
  } catch {
    // Whatever it was, the missing minions are about to be reported as such.
    return undefined;
  }
}

/** The state of one wait. */
class Wait {
  readonly #job: PublishedCommand;
  readonly #settings: GatherSettings;
  readonly #minions: Set<string>;
  readonly #found = new Set<string>();
  readonly #missing = new Set<string>();
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

  /** Books an event of the job; gives the return if it is one and the first of its minion. */
  takeReturn(event: ClientEvent, returnPrefix: string): JobReturn | undefined {
    const { data, tag } = event;
    if (data.has('error')) {
      throw new RefusedError('AuthorizationError', 'Authorization error occurred');
    }
    const minions = listOf(data, 'minions');
    if (minions !== undefined) {
      this.#expect(minions);
      for (const id of listOf(data, 'missing') ?? []) {
        if (typeof id === 'string') this.#missing.add(id);
      }
      return undefined;
    }
    if (!tag.startsWith(returnPrefix)) return undefined;
    const ret = data.get('return');
    const resource = textOf(data, 'resource_id');
    const id = resource === undefined || resource === '' ? textOf(data, 'id') : resource;
    if (ret === undefined || id === undefined || this.#found.has(id)) return undefined;
    this.#found.add(id);
    if (this.#minions.has(id)) this.#owing -= 1;
    const out = textOf(data, 'out');
    const retcode = data.get('retcode');
    const jid = textOf(data, 'jid');
    return {
      kind: 'return',
      id,
      ret,
      ...(out === undefined ? {} : { out }),
      ...(retcode === undefined ? {} : { retcode }),
      ...(jid === undefined ? {} : { jid }),
    };
  }

  /** Books an answer to find_job. */
  takeFindJob(event: ClientEvent, logError: (text: string) => void): void {
    const { data } = event;
    const id = textOf(data, 'id');
    const retcode = data.get('retcode');
    if (typeof retcode === 'number' && retcode > 0 && id !== undefined) {
      logError(`saltutil returning errors on minion ${id}`);
      if (this.#minions.delete(id) && !this.#found.has(id)) this.#owing -= 1;
      return;
    }
    const minions = listOf(data, 'minions');
    // The minions that were asked are known; only a syndic's list tells something new.
    if (minions !== undefined) {
      if (event.tag.startsWith('syndic/')) this.#expect(minions);
      return;
    }
    const ret = data.get('return');
    if (id === undefined || !isMap(ret) || ret.size === 0) return;
    const inner = ret.get('return');
    if (isMap(inner) && inner.size === 0) return;
    this.#expect([id]);
    if (!this.#minions.has(id)) return;
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

  #expect(ids: readonly SaltValue[]): void {
    if (this.#settings.fixed) return;
    const until = Date.now() + this.#settings.timeoutMs;
    for (const id of ids) {
      if (typeof id !== 'string' || this.#minions.has(id)) continue;
      this.#minions.add(id);
      this.#until.set(id, until);
      if (!this.#found.has(id)) this.#owing += 1;
    }
  }
}

/** The text of a minion that did not return (Salt: get_cli_event_returns). */
export function noResponseText(jid: string): string {
  return (
    'Minion did not return. [No response]\n' +
    'The minions may not have all finished running and any remaining minions will return upon ' +
    'completion. To look up the return data for this job later, run the following command:\n\n' +
    `salt-run jobs.lookup_jid ${jid}`
  );
}
