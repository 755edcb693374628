import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Bus, handleEach } from '@brine/bus';
import { eventData } from '@brine/bus/event-data';
import { type EventMessage, EventReader } from '@brine/bus/events';
import { LIMITS } from '@brine/bus/share';
import { Timeline } from '@brine/bus/timeline';
import {
  type ClientPorts,
  type ClientSettings,
  clientSettings,
  JobRecords,
  LocalClient,
} from '@brine/client';
import {
  type MasterOptions,
  nodegroupsOf,
  optionsForCallers,
  optionsForFunctions,
} from '@brine/config';
import type { EventKind } from '@brine/job';
import type {
  FunctionCall,
  FunctionOutcome,
  LocalFunctions,
  MasterPorts,
  MinionBanks,
} from '@brine/master';
import { callerOf, judgeInner, nameOfCall } from '@brine/master/functions';
import type { LocalRequest } from '@brine/master-ports';
import type { PythonCalls } from '@brine/python-host';
import {
  callFunction,
  type GivenArguments,
  type HostPorts,
  isKnown,
  type MasterContext,
  type OwnedRuns,
  type ReactorAdmin,
  refusedBecause,
  type RowSeal,
  runFunction,
  type RunnerContext,
  type RunnerMaster,
  runnerNamed,
  type ScheduleAdmin,
  type Shown,
} from '@brine/runners';
import type { Trouble } from '@brine/tasks';
import { mapOf, pack, type SaltMap } from '@brine/wire';
import { SiteFunctions } from './site-functions.ts';

export interface FunctionTableParts {
  readonly bus: Bus;
  readonly options: MasterOptions;
  /** Answers a request as a worker answers those of gateways. */
  readonly answer: (body: Uint8Array, sent: LocalRequest) => Promise<Uint8Array>;
  readonly auditSeal: RowSeal;
  /** The key of the master's own user. */
  readonly ownKey: () => string;
  readonly onTrouble: Trouble;
  /** The ports of requests. */
  readonly ports: MasterPorts;
  readonly pillarTop: RunnerMaster['pillarTop'];
  /** The runs of this process. */
  readonly runs: LongWork;
  readonly banks: MinionBanks;
  /** Ports of functions to this host. */
  readonly hostPorts: HostPorts;
  /** The reactor of the cluster. */
  readonly reactor: ReactorAdmin;
  /** The schedule of the cluster. */
  readonly schedule: ScheduleAdmin;
  /** Modules in Python, if `brine.python` is set. */
  readonly python?: PythonCalls | undefined;
}

/** Runs that outlive this process. */
export interface LongWork {
  /** The runs that the functions of one call begin and see. */
  of(call: FunctionCall): OwnedRuns;
  /** True if another process owns the run of a call now. */
  isElsewhere(jid: string): boolean;
}

/** Timeout and poll interval of a runner that waits for the stream of returns, in ms. */
const LISTEN_WAIT_MS = 5_000;
const LISTEN_LOOK_MS = 10;

/** Events that a client needs for returns, and for a batch, whose events are `local`. */
const CLIENT_KINDS = ['ret', 'job', 'syndic', 'local'] as const;
const BATCH_TAGS = 'salt/batch/';

/**
 * Runs the functions of the table in this process, as the master's own user. Their requests are
 * answered here without a socket; returns come from the stream of events.
 */
export class FunctionTable implements LocalFunctions {
  readonly #options: FunctionTableParts;
  readonly #named: SaltMap;
  readonly #shown: SaltMap;
  readonly #site: SiteFunctions | undefined;

  constructor(options: FunctionTableParts) {
    this.#options = options;
    this.#named = optionsForFunctions(options.options);
    this.#shown = optionsForCallers(options.options);
    const { python, onTrouble } = options;
    const fire = (tag: string, data: SaltMap): Promise<void> => this.#fire(tag, data);
    if (python === undefined) return;
    this.#site = new SiteFunctions({ python, fire, onTrouble, now: () => Date.now() });
    void this.#site.refresh();
  }

  /** The site's functions in Python, if the master has some. */
  get site(): SiteFunctions | undefined {
    return this.#site;
  }

  knows(kind: FunctionCall['kind'], fun: string): boolean | Promise<boolean> {
    if (isKnown(kind, fun) || refusedBecause(kind, fun) !== undefined) return true;
    return this.#site?.knows(kind, fun) ?? false;
  }

  async run(call: FunctionCall): Promise<FunctionOutcome> {
    const { kind, fun } = call;
    const site = isKnown(kind, fun) ? undefined : this.#site;
    if (site !== undefined && (await site.knows(kind, fun))) return site.run(call);
    const { context, close } = this.contextOf(call);
    try {
      const outcome = await callFunction(call, context);
      return this.#options.runs.isElsewhere(call.jid) ? { ...outcome, moved: true } : outcome;
    } finally {
      await close();
    }
  }

  /** Makes the context of a call, until it is closed. */
  contextOf(call: FunctionCall): {
    readonly context: RunnerContext;
    readonly close: () => Promise<void>;
  } {
    const client = this.#client(call);
    const context = { ...this.#context(call, client), jobs: new JobRecords(client) };
    return { context, close: () => client.close() };
  }

  #context(call: FunctionCall, client: LocalClient): MasterContext {
    const { auditSeal, banks, hostPorts, ports, pillarTop, reactor, schedule } = this.#options;
    const fire = (tag: string, data: SaltMap): Promise<void> => this.#fire(tag, data);
    const tag = `salt/${call.kind === 'runner' ? 'run' : 'wheel'}/${call.jid}`;
    return {
      client,
      auditSeal: () => Promise.resolve(auditSeal),
      out: (text) => {
        // Text for a terminal; the result does not wait for it.
        fire(`${tag}/progress`, mapOf({ data: text, outputter: 'text' })).catch((err: unknown) =>
          this.#options.onTrouble('what a runner printed was lost', err),
        );
      },
      master: {
        ...ports,
        ...hostPorts,
        call,
        local: this,
        option: (name) => this.#named.get(name),
        shownOptions: this.#shown,
        banks,
        site: this.#site,
        pillarTop,
        fire,
        listen: this.#listenToBus,
        runs: this.#options.runs.of(call),
        reactor,
        schedule,
        depthMax: LIMITS.calls.depth,
        run: (fun, given) => this.#runInner(call, fun, given),
      },
    };
  }

  /** Runs a runner for another one. @throws the error of that function, or of its refusal */
  async #runInner(outer: FunctionCall, fun: string, given: GivenArguments): Promise<Shown> {
    judgeInner(this.#options.ports, outer, { kind: 'runner', fun, ...given });
    const call: FunctionCall = {
      ...outer,
      kind: 'runner',
      fun,
      ...given,
      via: nameOfCall(outer),
      depth: (outer.depth ?? 0) + 1,
    };
    const found = runnerNamed(fun);
    if (found === undefined) {
      if (this.#site === undefined) throw new Error(`'${fun}' is not available.`);
      return this.#site.shown(call);
    }
    const { context, close } = this.contextOf(call);
    try {
      return await runFunction(found, given, context);
    } finally {
      await close();
    }
  }

  /** All events, those of jobs included. */
  readonly #listenToBus: RunnerMaster['listen'] = async (onEvent, position) => {
    const from = position === undefined ? 'now' : { position };
    const timeline = await Timeline.open(this.#options.bus, { from });
    const begin = timeline.position;
    const read = async (): Promise<void> => {
      for await (const { tag, kind, timeMs, body, position: next } of timeline) {
        onEvent(tag, async () => eventData(await body(), timeMs, kind), next);
      }
    };
    read().catch((err: unknown) => this.#options.onTrouble('events were not read', err));
    return { position: begin, close: () => timeline.close() };
  };

  async #fire(tag: string, data: SaltMap): Promise<void> {
    const body = pack(data);
    await this.#options.ports.events.append({ kind: 'local', tag, body, msgId: randomUUID() });
  }

  #client(call: FunctionCall): LocalClient {
    const { options, answer, ownKey, onTrouble, ports: master } = this.#options;
    const link = call.traceparent === undefined ? {} : { link: call.traceparent };
    const ports: ClientPorts = {
      request: {
        request: (body, { requestId: id, isOwn }) => {
          const caller = callerOf(master, call, isOwn);
          return answer(body, { caller, ...link, ...(id === undefined ? {} : { id }) });
        },
      },
      events: {
        listen: (onEvent) =>
          this.listen(CLIENT_KINDS, async (event) => {
            // No runner reads other local events, and their bodies may be large.
            if (event.kind === 'local' && !event.tag.startsWith(BATCH_TAGS)) return;
            onEvent(event.tag, await event.fetch());
          }),
      },
      master: { isPresent: () => true, readKey: async () => ownKey() },
      logError: (text) => onTrouble(text, undefined),
    };
    return new LocalClient(ports, settingsFor(options, call));
  }

  /** Delivers the events of some kinds, from a time (unix ms) or from now on, until closed. */
  async listen(
    kinds: readonly EventKind[],
    onEvent: (event: EventMessage) => Promise<void> | void,
    sinceMs?: number,
  ): Promise<{ close(): void }> {
    const from = sinceMs === undefined ? {} : { from: { timeMs: sinceMs } };
    const reader = new EventReader(this.#options.bus, { kinds, ...from });
    handleEach(reader, async (event) => onEvent(event)).catch((err: unknown) =>
      this.#options.onTrouble('events were not read', err),
    );
    const untilMs = Date.now() + LISTEN_WAIT_MS;
    // A job that is published before the reader reads would miss returns.
    while (!reader.reading) {
      if (Date.now() > untilMs) {
        reader.close();
        throw new Error('the stream of events is unreachable');
      }
      await sleep(LISTEN_LOOK_MS);
    }
    return { close: () => reader.close() };
  }
}

/** Settings for a publish by a runner, as its caller if the caller's rights are limited. */
export function settingsFor(
  options: MasterOptions,
  {
    caller,
    user = options.user,
    timeoutSeconds = options.timeout,
  }: Partial<Pick<FunctionCall, 'caller' | 'user' | 'timeoutSeconds'>>,
): ClientSettings {
  const settings = clientSettings(options, {
    user: caller === undefined ? options.user : user,
    nodegroups: nodegroupsOf(options.nodegroups),
  });
  return { ...settings, timeoutMs: timeoutSeconds * 1000 };
}
