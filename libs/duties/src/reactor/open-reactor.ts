import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '@brine/bus';
import { ReactionQueue } from '@brine/bus/reactions';
import { WaitingRequests } from '@brine/bus/rpc';
import { type QueuedWork, QueueWork, type WorkEnd } from '@brine/cluster-work';
import { RecordMac } from '@brine/crypt';
import type { FileServer } from '@brine/fileserver';
import {
  type FunctionCall,
  type LocalFunctions,
  type MasterPorts,
  MasterUnavailableError,
} from '@brine/master';
import { freeJid } from '@brine/master/functions';
import type { PythonCalls } from '@brine/python-host';
import {
  type FailedReaction,
  type FailureKind,
  MANAGE_PURPOSE,
  OutageError,
  react,
  type ReactPorts,
  type Signature,
} from '@brine/reactor';
import { ThreadedSls } from '@brine/rendering';
import { type OwnedRuns, type OwnStates, signatureOf } from '@brine/runners';
import type { ServiceContext } from '@brine/service';
import { sleepUnless } from '@brine/tasks';
import { nowMs } from '@brine/telemetry';
import { pack, type SaltMap } from '@brine/wire';
import { manageByEvent } from './manage-events.ts';
import { Matching, REACTOR_USER } from './matching.ts';
import { type CallParts, openCalls, type ReactionCalls } from './reaction-calls.ts';
import { ReactionFiles } from './reaction-files.ts';
import type { ReactorList } from './reactor-list.ts';
import { reactorMetrics } from './reactor-metrics.ts';
import { mostWaiting, reactorThreads } from './settings.ts';

export interface ReactorParts {
  readonly context: ServiceContext;
  readonly bus: Bus;
  readonly list: ReactorList;
  /** The master's private key, which signs events that manage the reactor. */
  readonly pem: string;
  readonly files: FileServer;
  readonly python: PythonCalls | undefined;
  readonly ownStates: Pick<OwnStates, 'grains'>;
  /** The ports of requests. */
  readonly ports: MasterPorts;
  /** The functions of this process. */
  readonly local: LocalFunctions;
  readonly runs: { of(call: FunctionCall): OwnedRuns };
  /** Minions in this process's copy of the state. */
  readonly state: { ready(): boolean };
  /** Answers a request as a worker answers those of gateways; one id is one request. */
  readonly answer: CallParts['answer'];
  readonly ownKey: CallParts['ownKey'];
}

/** The reactor of a process. */
export interface OpenReactor {
  /** Makes the master's own calls, for reactions and the schedule. */
  readonly calls: ReactionCalls;
  status(): object;
  /** Takes nothing more; resolves when the current work has ended. */
  leave(): Promise<void>;
  close(): Promise<void>;
}

type Options = ServiceContext['options'];

/** Poll interval of a process that has not read the list yet. */
const LIST_WAIT_MS = 250;
/** Limit of failures that one process records per second; the others are only counted. */
const RECORDS_PER_SECOND = 10;
/** Time that a stopping process waits for running calls. */
const CLOSE_MS = 5_000;
const NO_ENTRY = 'No entry of this worker matches; is `reactor` the same on all hosts?';

/** Opens the reactor of a process: it matches events, and processes the queue of the cluster. */
export function openReactor(parts: ReactorParts): OpenReactor {
  return new Reactor(parts);
}

class Reactor implements OpenReactor {
  readonly calls: ReactionCalls;
  readonly #parts: ReactorParts;
  readonly #matching: Matching | undefined;
  /** Undefined without a reactor: entries that other hosts queued are left to them. */
  readonly #work: QueueWork | undefined;
  readonly #threads: ThreadedSls;
  readonly #files: ReactionFiles;
  readonly #metrics: ReturnType<typeof reactorMetrics>;
  readonly #stop = new AbortController();
  readonly #requests = new WaitingRequests();
  readonly #stopFollowingRequests: () => void;
  readonly #stopFollowing: () => void;
  #recorded = { second: 0, count: 0 };

  constructor(parts: ReactorParts) {
    this.#parts = parts;
    const { context, list } = parts;
    this.calls = openCalls(context, parts);
    this.#threads = this.#openThreads(context.options);
    this.#files = this.#openFiles();
    this.#metrics = reactorMetrics(context.metrics, {
      running: () => this.#work?.running ?? 0,
      calling: () => this.calls.running,
    });
    const { isRunning } = list.admin;
    this.#work = isRunning ? this.#openWork() : undefined;
    this.#matching = isRunning ? this.#openMatching() : undefined;
    this.#stopFollowingRequests = this.#requests.follow(parts.bus);
    this.#stopFollowing = list.follow(async (wanted) => this.#matching?.want(wanted));
  }

  status(): object {
    const { admin, wanted } = this.#parts.list;
    const { map, isLeader } = wanted;
    return {
      running: admin.isRunning,
      entries: map.globs.length,
      leader: isLeader,
      matching: this.#matching?.reading ?? false,
      working: this.#work?.running ?? 0,
    };
  }

  async leave(): Promise<void> {
    this.#stop.abort();
    this.#stopFollowing();
    this.#stopFollowingRequests();
    await this.#matching?.close();
    await this.#work?.leave();
  }

  async close(): Promise<void> {
    const late = sleep(CLOSE_MS, undefined, { ref: false });
    await Promise.race([this.leave().then(() => this.#work?.close()), late]);
    await this.#threads.close();
  }

  // Reactions.

  async #react(work: QueuedWork): Promise<WorkEnd> {
    const { id, name: tag, data, deliveries, timeMs } = work;
    const { list } = this.#parts;
    while (list.wanted.key === '') {
      // Without the list nothing would match, and the event would be discarded.
      if (!(await this.#pause(LIST_WAIT_MS))) return 'again';
      await list.refreshed();
    }
    // The process that matched the event may have received a change of the list earlier.
    if (!list.wanted.map.wants(tag)) await list.refreshed();
    if (!list.wanted.map.wants(tag)) {
      await this.#failed({ id, tag, what: tag, why: NO_ENTRY }, 'missing');
    }
    if (!data.has('_stamp')) data.set('_stamp', stampOf(timeMs));
    const end = await react({ id, tag, data, deliveries }, this.#portsFor(work));
    this.#metrics.reacted(end, (Date.now() - timeMs) / 1_000);
    return end;
  }

  #portsFor({ name, timeMs, link }: QueuedWork): ReactPorts {
    const { context, list } = this.#parts;
    const cause = { name, timeMs, begunMs: nowMs(), link };
    return {
      filesFor: (tag) => list.wanted.map.filesFor(tag),
      find: (item) => this.#files.find(item),
      render: (file, names) => this.#files.render(file, names),
      signatureOf: (kind, fun) => this.#signatureOf(kind, fun),
      plans: list.state,
      newJid: () => this.#newJid(),
      call: async (made) => {
        this.#metrics.calls(made.call.kind);
        await this.calls.make(made, cause);
      },
      failed: (failed, kind) => this.#failed(failed, kind),
      note: (text) => context.log.warn({ tag: name }, text),
      pause: (ms) => this.#pause(ms),
    };
  }

  async #signatureOf(
    kind: 'runner' | 'wheel',
    fun: string,
  ): Promise<Signature | 'unknown to Brine' | undefined> {
    const known = signatureOf(kind, fun);
    if (known !== undefined) return known;
    const isOfSite = await this.#parts.local.knows(kind, fun);
    return isOfSite ? 'unknown to Brine' : undefined;
  }

  async #newJid(): Promise<string> {
    try {
      const jid = await freeJid(this.#parts.ports);
      if (jid !== undefined) return jid;
    } catch (cause) {
      if (!(cause instanceof MasterUnavailableError)) throw cause;
      throw new OutageError(cause.message, { cause });
    }
    throw new OutageError('no job id is free');
  }

  /** Records, logs and counts a failure; beyond the limit only counts it. */
  async #failed(failed: FailedReaction, kind: FailureKind): Promise<void> {
    const { log } = this.#parts.context;
    const second = Math.floor(Date.now() / 1_000);
    if (second !== this.#recorded.second) this.#recorded = { second, count: 0 };
    this.#recorded.count += 1;
    const isKept = this.#recorded.count <= RECORDS_PER_SECOND;
    this.#metrics.failed(kind, isKept);
    if (!isKept) return;
    const { tag, what, why } = failed;
    log.error({ tag, what, kind }, `a reaction failed: ${why}`);
    try {
      await this.#parts.list.state.keepFailure({ ...failed, kind, atMs: Date.now() });
    } catch (err) {
      log.warn({ err, tag }, 'a failed reaction is not on record');
    }
  }

  /** False at once if this process is to stop. */
  #pause(ms: number): Promise<boolean> {
    return sleepUnless(ms, this.#stop.signal, { ref: false });
  }

  #openThreads(options: Options): ThreadedSls {
    const { context, python } = this.#parts;
    const niceness = options.reactorNiceness;
    const how = typeof niceness === 'number' ? { niceness } : {};
    return new ThreadedSls(options, (text) => context.log.error(text), python, how);
  }

  #openFiles(): ReactionFiles {
    const { context, files, ownStates, ports, local } = this.#parts;
    return new ReactionFiles({
      files,
      threads: this.#threads,
      pushedDir: join(context.options.cachedir, 'minions'),
      id: () => ports.rules.masterMinionId,
      grains: (id) => ownStates.grains(id),
      runner: async (fun, args, kwargs) => {
        const call = { kind: 'runner', fun, args, kwargs, jid: ports.nextJid() } as const;
        const own = { user: REACTOR_USER, principal: ports.rules.user, via: 'reactor' };
        return (await local.run({ ...call, ...own })).value;
      },
    });
  }

  #openWork(): QueueWork {
    const { context, bus } = this.#parts;
    return new QueueWork({
      bus,
      kind: 'event',
      atOnce: reactorThreads(context.options),
      isBusy: () => this.#requests.areSlow,
      // Runners and wheels have separate places, so that jobs do not wait for long ones.
      waiting: () => this.calls.pending,
      work: (work) => this.#react(work),
      onTrouble: (text, err) => context.log.warn({ err }, text),
    });
  }

  #openMatching(): Matching {
    const { context, bus, ports, list } = this.#parts;
    const { options, log } = context;
    const queue = new ReactionQueue(bus, { mostWaiting: mostWaiting(options) });
    const onTrouble = (text: string, err?: unknown): void => log.warn({ err }, text);
    const mac = RecordMac.fromMasterKey(this.#parts.pem, MANAGE_PURPOSE);
    return new Matching(
      {
        bus,
        queue,
        onTrouble,
        maxEventSize: options.maxEventSize,
        manage: (event) =>
          manageByEvent(event, {
            admin: list.admin,
            mac,
            id: ports.rules.masterMinionId,
            onTrouble,
            fire: async (tag, data) => this.#fire(event, tag, data),
          }),
        count: (outcome) => this.#metrics.matched(outcome),
        onRelief: (text) => log.info(text),
      },
      list.wanted,
    );
  }

  /** Once per asking event, however often that is delivered. */
  async #fire(asked: { readonly seq: number }, tag: string, data: SaltMap): Promise<void> {
    const msgId = `reactor:${asked.seq}:${tag}`;
    await this.#parts.ports.events.append({ kind: 'local', tag, body: pack(data), msgId });
  }
}

/** UTC with microseconds and zone, as in Python's isoformat. */
function stampOf(timeMs: number): string {
  const micros = String(Math.floor((timeMs % 1) * 1_000)).padStart(3, '0');
  return `${new Date(Math.floor(timeMs)).toISOString().slice(0, -1)}${micros}+00:00`;
}
