import type { JobRecords, LocalClient } from '@brine/client';
import type { AuditedAct } from '@brine/job';
import type { AccessRules, FunctionCall, FunctionOutcome } from '@brine/master';
import {
  isMap,
  mapIn,
  mapOf,
  pack,
  type SaltMap,
  type SaltValue,
  textOf,
  unpackMap,
} from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { callFunction } from '../src/call.ts';
import type { RunnerContext, RunnerMaster } from '../src/function.ts';
import { type OwnedRun, RunReleasedError } from '../src/owned-run.ts';

/** Data of an SLS file as an object of JavaScript. */
export type Plain = null | boolean | number | string | readonly Plain[] | { [key: string]: Plain };

/** The same as Salt's values. */
export function salted(value: Plain): SaltValue {
  if (Array.isArray(value)) return value.map(salted);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([key, item]) => [key, salted(item)]));
}

/** A job that was published. */
export interface PublishedJob {
  readonly jid: string;
  readonly fun: string;
  readonly tgt: unknown;
  readonly arg: readonly SaltValue[];
}

/** A command as a client publishes it. */
interface Asked {
  readonly fun: string;
  readonly tgt: unknown;
  readonly tgtType?: string;
  readonly arg: readonly SaltValue[];
  readonly jid?: string;
  readonly requestId?: string;
}

/** A job with what its minions return. */
interface Job {
  readonly jid: string;
  readonly minions: string[];
  /** Ids of a list that are no minions. */
  readonly missing: string[];
  readonly returns: SaltMap;
}

/** The return of a minion for a function; undefined: none. */
export type Answer = (fun: string, arg: readonly SaltValue[]) => SaltValue | undefined;

const ROOT = { user: 'root', principal: 'root' };

/** A cluster in memory: minions, job cache, files and the records of runs outlive each process. */
export class OrchestrationWorld {
  readonly published: PublishedJob[] = [];
  readonly ran: string[] = [];
  readonly fired: { readonly tag: string; readonly data: SaltMap }[] = [];
  readonly logged: string[] = [];
  /** The parameters of requested pillars. */
  readonly pillarsAsked: SaltMap[] = [];
  readonly #files: Readonly<Record<string, Plain>>;
  readonly #minions: ReadonlyMap<string, Answer>;
  readonly #listeners = new Set<Parameters<RunnerMaster['listen']>[0]>();
  readonly #returned = new Map<string, SaltMap>();
  readonly options = new Map<string, SaltValue>();
  readonly audited: AuditedAct[] = [];
  /** Who asks for what runs here. */
  caller: Pick<FunctionCall, 'user' | 'principal' | 'caller'> = ROOT;
  /** Rights of others than root. */
  access: AccessRules | undefined;
  pillar: SaltMap = new Map();
  /** The record of the run, as the bucket has it. */
  record: { data: Uint8Array; input: Uint8Array } | undefined;
  /** Saves until the process dies; the one after them is not stored. */
  livesFor = Infinity;
  /** Called when a job is published, before its minions return. */
  onPublish: () => Promise<void> = () => Promise.resolve();
  /** So often the job cache does not know a job yet; each question takes 6 s. */
  cacheBehind = 0;
  /** False: runners and wheels of steps leave no entry in the job cache. */
  keepsEntries = true;
  /** True: runners of steps are run, orchestrations in orchestrations. */
  runsOrchestrations = false;
  /** The results of those, the innermost first. */
  readonly outcomes: FunctionOutcome[] = [];
  /** Functions that were sent to be published, those that were known already too. */
  readonly sent: string[] = [];
  saves = 0;
  #clockMs = 0;
  readonly #requests = new Map<string, Job>();
  readonly #batches = new Map<string, Job>();
  #jids = 0;
  #ownJid = '';
  #onMessage: ((message: SaltMap) => void) | undefined;

  constructor(
    files: Readonly<Record<string, Plain>>,
    minions: Readonly<Record<string, Answer>> = {},
  ) {
    this.#files = files;
    this.#minions = new Map(Object.entries(minions));
  }

  nextJid(): string {
    this.#jids += 1;
    return `20260101${String(this.#jids).padStart(12, '0')}`;
  }

  /** Fires an event, as anything in the cluster does. */
  fire(tag: string, data: SaltMap): void {
    this.fired.push({ tag, data });
    const position = String(this.fired.length);
    for (const listener of this.#listeners) listener(tag, () => Promise.resolve(data), position);
  }

  /** The context of a call's function, in a new process. */
  context(jid = this.nextJid()): RunnerContext {
    return {
      client: this.#client(),
      jobs: this.#jobs(),
      out: () => undefined,
      auditSeal: () => Promise.reject(new Error('no seal')),
      master: this.#master(jid),
    };
  }

  /** The run as a process takes it over. */
  takeOver(jid: string): OwnedRun {
    this.livesFor = Infinity;
    const { data, input } = this.record ?? {};
    if (data === undefined || input === undefined) throw new Error('there is no record');
    return this.#run(jid, unpackMap(Buffer.from(data)), unpackMap(Buffer.from(input)));
  }

  #run(jid: string, data: SaltMap, input: SaltMap): OwnedRun {
    const lost = new AbortController();
    const save = (next: SaltMap): Promise<void> => {
      this.saves += 1;
      if (this.saves > this.livesFor) {
        lost.abort();
        return Promise.reject(new RunReleasedError('the worker is dead'));
      }
      this.record = { data: pack(next), input: pack(input) };
      return Promise.resolve();
    };
    return {
      jid,
      data,
      input: input,
      released: lost.signal,
      check: () => undefined,
      save,
      saveInput: () => Promise.reject(new Error('not asked for')),
      onMessage: (handler) => (this.#onMessage = handler),
      end: () => {
        this.record = undefined;
        return Promise.resolve();
      },
    };
  }

  #client(): LocalClient {
    const client = {
      publish: async (command: Asked) => {
        await this.onPublish();
        this.sent.push(command.fun);
        // As the stream: what is sent under a known id is no new job.
        const { requestId = '' } = command;
        const first = this.#requests.get(requestId);
        if (first !== undefined) return first;
        const job = this.#carryOut(command);
        if (job !== undefined && requestId !== '') this.#requests.set(requestId, job);
        return job;
      },
      waits: { timeoutMs: 5_000, gatherJobTimeoutMs: 5_000 },
      listen: () => {
        const next = () => {
          const jid = [...this.#batches.keys()].at(-1) ?? '';
          const data = mapOf({ brine: mapOf({ seq: 1 }) });
          return Promise.resolve({ tag: `salt/batch/${jid}/complete`, data });
        };
        return Promise.resolve({ next, close: () => undefined });
      },
      order: (_cmd: string, command: Asked, more: SaltMap) => {
        const jid = command.jid ?? '';
        if (more.has('follow')) return Promise.resolve(mapOf({ state: this.#batchState(jid) }));
        const job = this.#carryOut(command);
        if (job === undefined) return Promise.resolve(mapOf({ matched: false }));
        this.#batches.set(jid, job);
        return Promise.resolve(mapOf({ jid }));
      },
      command: (load: SaltMap) => {
        const jid = textOf(mapIn(load, 'args') ?? mapOf({}), 'jid') ?? '';
        const returns = this.#batches.get(jid)?.returns ?? null;
        return Promise.resolve(mapOf({ value: mapOf({ returns }) }));
      },
      async *returns(job: Job) {
        for (const id of job.minions) {
          const found = mapIn(job.returns, id);
          if (found === undefined) yield { kind: 'missing', id };
          else yield { kind: 'return', id, ret: found.get('return'), jid: job.jid };
        }
        for (const id of job.missing) yield { kind: 'missing', id, unknown: true };
      },
    };
    return client as unknown as LocalClient;
  }

  #carryOut(command: Asked): Job | undefined {
    const { fun, tgt, arg } = command;
    const jid = command.jid || this.nextJid();
    const wanted = Array.isArray(tgt) ? tgt.map(String) : String(tgt).split(',');
    const ids = [...this.#minions.keys()].filter(
      (id) => wanted.includes('*') || wanted.includes(id),
    );
    const missing = command.tgtType === 'list' ? wanted.filter((id) => !ids.includes(id)) : [];
    if (ids.length === 0) return undefined;
    const returns: SaltMap = new Map();
    for (const id of ids) {
      const ret = this.#minions.get(id)?.(fun, arg);
      if (ret !== undefined) returns.set(id, mapOf({ return: ret }));
    }
    if (fun !== 'saltutil.find_job') {
      this.published.push({ jid, fun, tgt, arg });
      this.#returned.set(jid, mapOf({ minions: ids, missing, returns }));
    }
    return { jid, minions: ids, missing, returns };
  }

  #batchState(jid: string): SaltMap | null {
    const job = this.#batches.get(jid);
    if (job === undefined) return null;
    const silent = job.minions.filter((id) => !job.returns.has(id));
    const plan = mapOf({ active: [], silent });
    return mapOf({ seq: 1, ended: true, completed: job.returns.size, plan });
  }

  #jobs(): JobRecords {
    const jobs = {
      targets: (jid: string) => {
        this.#clockMs += 6_000;
        this.cacheBehind -= 1;
        const job = this.cacheBehind >= 0 ? undefined : this.#returned.get(jid);
        const listed = (name: string): SaltValue => job?.get(name) ?? [];
        const known = job && { minions: listed('minions'), missing: listed('missing') };
        return Promise.resolve(known);
      },
      returns: (jid: string) => {
        this.#clockMs += 6_000;
        const job = this.#returned.get(jid) ?? mapOf({});
        return Promise.resolve(mapIn(job, 'returns') ?? mapOf({}));
      },
    };
    return jobs as unknown as JobRecords;
  }

  #master(jid: string, depth = 0): RunnerMaster {
    const append = (event: { tag: string; body: Uint8Array }) => {
      this.fire(event.tag, unpackMap(Buffer.from(event.body)));
      return Promise.resolve({ duplicate: false });
    };
    const master = {
      call: { kind: 'runner', fun: 'state.orchestrate', jid, depth, ...this.caller },
      depthMax: 4,
      rules: { masterMinionId: 'm_master', runnerReturns: true, access: this.access },
      audit: {
        record: (act: AuditedAct) => void this.audited.push(act),
        recordRefusal: (act: AuditedAct) => void this.audited.push(act),
      },
      count: () => undefined,
      events: { append },
      option: (name: string) => this.options.get(name),
      pillars: {
        render: (asked: SaltMap) => {
          this.pillarsAsked.push(asked);
          return Promise.resolve(new Map([...this.pillar, ...(mapIn(asked, 'override') ?? [])]));
        },
      },
      files: {
        envs: () => Promise.resolve(new Map([['roots', ['base']]])),
        lists: () => Promise.resolve({ files: this.#paths() }),
        find: (path: string) =>
          Promise.resolve(
            this.#paths().includes(path) ? { path, rel: path, back: 'roots' } : undefined,
          ),
      },
      local: { run: (call: FunctionCall) => this.#runFunction(call), knows: () => false },
      ownStates: {
        ask: (asked: SaltMap) => Promise.resolve(this.#rendered(asked)),
        grains: () => Promise.resolve(mapOf({ id: 'm_master' })),
        log: (level: string, text: string) => void this.logged.push(`${level}: ${text}`),
      },
      publications: { reserve: () => Promise.resolve(true) },
      nextJid: () => this.nextJid(),
      now: () => Date.now() + this.#clockMs,
      fire: (tag: string, data: SaltMap) => Promise.resolve(this.fire(tag, data)),
      listen: (...[onEvent, from]: Parameters<RunnerMaster['listen']>) => {
        const position = from ?? String(this.fired.length);
        for (const [at, { tag, data }] of this.fired.entries()) {
          if (at < Number(position)) continue;
          onEvent(tag, () => Promise.resolve(data), String(at + 1));
        }
        this.#listeners.add(onEvent);
        return Promise.resolve({ position, close: () => void this.#listeners.delete(onEvent) });
      },
      runs: {
        begin: (_kind: string, own: string, data: SaltMap, input: SaltMap) => {
          this.#ownJid = own;
          this.record = { data: pack(data), input: pack(input) };
          return Promise.resolve(this.#run(own, data, input));
        },
        find: () => Promise.resolve(undefined),
        list: () => Promise.resolve([]),
        messages: () => [],
        send: (told: string, word: SaltMap) => {
          const isHere = this.#ownJid === told;
          if (isHere) this.#onMessage?.(word);
          return Promise.resolve(isHere);
        },
      },
    };
    return master as unknown as RunnerMaster;
  }

  #paths(): string[] {
    return Object.keys(this.#files).map((name) => `${name.replaceAll('.', '/')}.sls`);
  }

  #rendered(asked: SaltMap): SaltMap {
    const fun = textOf(asked, 'fun');
    if (fun !== undefined) return mapOf({ value: fun === 'test.true' });
    return mapOf({ value: salted(this.#files[textOf(asked, 'sls') ?? ''] ?? null) });
  }

  /** Runners and wheels that steps call; each leaves its entry in the job cache. */
  async #runFunction(call: FunctionCall): Promise<FunctionOutcome> {
    const { fun, jid, kwargs, depth } = call;
    this.ran.push(fun);
    if (this.runsOrchestrations) {
      const context = { ...this.context(), master: this.#master(jid, depth) };
      const outcome = await callFunction(call, context);
      this.outcomes.push(outcome);
      return outcome;
    }
    const success = kwargs.get('fails') !== true;
    const value = `${fun} done`;
    const entry = mapOf({ return: mapOf({ return: value, success }) });
    const returns = mapOf({ m_master: entry });
    if (this.keepsEntries) this.#returned.set(jid, mapOf({ minions: [], returns }));
    return { value, success };
  }
}

/** Ids of the results with what became of them, in their order. */
export function told(value: SaltValue): readonly string[] {
  const data = isMap(value) ? mapIn(value, 'data') : undefined;
  const states = data?.get('m_master') ?? null;
  if (!isMap(states)) return Array.isArray(states) ? states.map(pyStr) : [pyStr(states)];
  return [...states]
    .sort(([, a], [, b]) => order(a) - order(b))
    .map(([tag, ret]) => {
      const id = pyStr(tag).split('_|-')[1] ?? '';
      const map = isMap(ret) ? ret : mapOf({});
      return `${id}: ${JSON.stringify(map.get('result'))} ${pyStr(map.get('comment') ?? '')}`;
    });
}

function order(ret: SaltValue): number {
  return isMap(ret) ? Number(ret.get('__run_num__')) : 0;
}
