import { LocalClient } from '@brine/client';
import { isOutage, runOnce } from '@brine/cluster-work';
import type { MasterOptions } from '@brine/config';
import { type Jid, traceparentOf } from '@brine/job';
import {
  type FunctionCall,
  type LocalFunctions,
  type MasterPorts,
  MasterUnavailableError,
} from '@brine/master';
import { recordInner } from '@brine/master/functions';
import type { LocalRequest } from '@brine/master-ports';
import { type CallToMake, type LocalCall, type MasterCall, OutageError } from '@brine/reactor';
import type { OwnedRuns } from '@brine/runners';
import type { ServiceContext } from '@brine/service';
import { errorText, Gate, type Trouble } from '@brine/tasks';
import { nowMs, type Telemetry } from '@brine/telemetry';
import { isMap, mapOf } from '@brine/wire';
import { settingsFor } from '../functions/function-table.ts';
import { REACTOR_USER } from './matching.ts';
import { reactorThreads } from './settings.ts';

/** The cause of a call: an event, or a due time of the schedule. */
export interface CallCause {
  /** The tag, or the name of the scheduled job. */
  readonly name: string;
  /** Time of the event's storage, or the due time; unix ms. */
  readonly timeMs: number;
  /** Time at which this process began with it; unix ms. */
  readonly begunMs: number;
  /** The W3C traceparent of the cause. */
  readonly link?: string | undefined;
  /** The user in events of the run; default `Reactor`, whose events cause no reaction. */
  readonly user?: string;
}

export interface CallParts {
  readonly options: MasterOptions;
  /** The ports of requests. */
  readonly ports: MasterPorts;
  /** Answers a request as a worker answers those of gateways; one id is one request. */
  readonly answer: (body: Uint8Array, sent: LocalRequest) => Promise<Uint8Array>;
  /** The key of the master's own user. */
  readonly ownKey: () => string;
  /** False while this process reads the minions again: then targets match none. */
  readonly isReady: () => boolean;
  /** The functions of this process. */
  readonly local: LocalFunctions;
  /** Long work for the functions of a call. */
  readonly runsOf: (call: FunctionCall) => OwnedRuns;
  readonly spans: Pick<Telemetry, 'recordSpan'>;
  readonly onTrouble: Trouble;
  /** Limit of concurrent runners and wheels in this process. */
  readonly atOnce: number;
}

/** Opens a process's own calls, for the reactor and the schedule. */
export function openCalls(
  { options, telemetry, log }: ServiceContext,
  parts: Pick<CallParts, 'answer' | 'ownKey' | 'ports' | 'local'> & {
    readonly runs: { of(call: FunctionCall): OwnedRuns };
    readonly state: { ready(): boolean };
  },
): ReactionCalls {
  const { answer, ownKey, ports, local, runs, state } = parts;
  return new ReactionCalls({
    options,
    answer,
    ownKey,
    ports,
    local,
    spans: telemetry,
    isReady: () => state.ready(),
    runsOf: (call) => runs.of(call),
    onTrouble: (text, err) => log.warn({ err }, text),
    atOnce: reactorThreads(options),
  });
}

/**
 * Makes the calls of reactions and of the schedule, as the master's own user: jobs through the
 * client, runners and wheels through the one table. Each key is called once. If a call is repeated
 * after the death of a process, a job is not published twice, and a resumable run is awaited.
 */
export class ReactionCalls {
  readonly #parts: CallParts;
  readonly #gate: Gate;

  constructor(parts: CallParts) {
    this.#parts = parts;
    this.#gate = new Gate(parts.atOnce);
  }

  /** Number of running runners and wheels. */
  get running(): number {
    return this.#gate.running;
  }

  /** As {@link running}, plus those that wait for their turn. */
  get pending(): number {
    return this.#gate.running + this.#gate.waiting;
  }

  /**
   * Makes a call; resolves when a job is published, or a run has ended, with or without success.
   * @throws OutageError if a retry may succeed; Error for a call that can not be made
   */
  async make(made: CallToMake, cause: CallCause): Promise<void> {
    const { call } = made;
    if (!this.#parts.isReady()) throw new OutageError('the hot state is being read again');
    try {
      if (call.kind === 'local') await this.#publish(call, made, viaOf(cause));
      else await this.#run(call, made, cause);
      this.#record(made, cause);
    } catch (error) {
      this.#record(made, cause, errorText(error));
      throw isOutage(error) ? new OutageError((error as Error).message, { cause: error }) : error;
    }
  }

  async #publish(call: LocalCall, { jid, key, again }: CallToMake, via: string): Promise<void> {
    if (again && (await this.#isPublished(jid))) return;
    const { options, answer, ownKey, onTrouble, ports } = this.#parts;
    const { user } = ports.rules;
    const caller = { kind: 'user', user, principal: user, acl: undefined, via } as const;
    const client = new LocalClient(
      {
        request: { request: (body) => answer(body, { id: `reaction:${key}`, caller }) },
        events: { listen: () => Promise.reject(new Error('a reaction waits for no returns')) },
        master: { isPresent: () => true, readKey: async () => ownKey() },
        logError: (text) => onTrouble(text, undefined),
      },
      settingsFor(options, {}),
    );
    const { tgt, tgtType, fun, arg, ret, kwargs } = call;
    await client.publish({ tgt, tgtType, fun, arg, ret, jid, kwargs, recordsRoot: true });
  }

  /** If the store does not answer, the job is published again: minions know its id. */
  async #isPublished(jid: string): Promise<boolean> {
    try {
      return isMap(await this.#parts.ports.jobs.ask('job', mapOf({ jid })));
    } catch (error) {
      if (error instanceof MasterUnavailableError) return false;
      throw error;
    }
  }

  async #run(call: MasterCall, { jid, again }: CallToMake, cause: CallCause): Promise<void> {
    const { runsOf, local, onTrouble } = this.#parts;
    const ports = this.#parts.ports;
    const { kind, fun, args, kwargs } = call;
    if (!(await local.knows(kind, fun))) throw new Error('function not available');
    const { user: principal } = ports.rules;
    const via = viaOf(cause);
    const asked: FunctionCall = {
      kind,
      fun,
      args,
      kwargs,
      jid,
      principal,
      via,
      user: cause.user ?? REACTOR_USER,
      traceparent: traceparentOf(jid as Jid, 'request'),
    };
    recordInner(ports, asked, { kind: 'user', principal, via }, 'done');
    await runOnce(asked, again, {
      ports,
      runsOf,
      onTrouble,
      run: (one) => this.#gate.run(() => local.run(one)),
    });
  }

  /** Records two spans in the trace of the job or run: from the event to now, and from now on. */
  #record({ jid, key, call }: CallToMake, cause: CallCause, error?: string): void {
    const { recordSpan } = this.#parts.spans;
    const { name, timeMs, begunMs, link } = cause;
    recordSpan({
      name: 'event',
      jid,
      part: 'event',
      link,
      // A clock behind that of NATS must not make a span that ends before it starts.
      startMs: Math.min(timeMs, begunMs),
      endMs: begunMs,
      attributes: { 'salt.tag': name, 'brine.reaction': key },
    });
    recordSpan({
      name: 'reaction',
      jid,
      part: 'request',
      parentPart: 'event',
      startMs: begunMs,
      endMs: nowMs(),
      error,
      attributes: { 'salt.fun': `${call.kind}.${call.fun}`, 'brine.reaction': key },
    });
  }
}

/** Length limit of a tag in a record; a minion may choose 8 KiB. */
const NAME_MAX = 256;

function viaOf({ name }: CallCause): string {
  return `reactor ${name.slice(0, NAME_MAX)}`;
}
