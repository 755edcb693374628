import type { JobRecords, LocalClient } from '@brine/client';
import type { FunctionCall, FunctionOutcome } from '@brine/master';
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
import type { RunnerContext, RunnerMaster } from '../src/function.ts';
import { type OwnedRun, RunLostError } from '../src/owned-run.ts';

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
  readonly arg: readonly SaltValue[];
  readonly jid?: string;
}

/** What a minion returns for a function; undefined: nothing. */
export type Answer = (fun: string, arg: readonly SaltValue[]) => SaltValue | undefined;

/** A cluster in memory: minions, job cache, files and the records of runs outlive each worker. */
export class OrchestrationWorld {
  readonly published: PublishedJob[] = [];
  readonly ran: string[] = [];
  readonly fired: { readonly tag: string; readonly data: SaltMap }[] = [];
  readonly logged: string[] = [];
  readonly #files: Readonly<Record<string, Plain>>;
  readonly #minions: ReadonlyMap<string, Answer>;
  readonly #listeners = new Set<(tag: string, data: () => Promise<SaltMap>) => void>();
  readonly #returned = new Map<string, SaltMap>();
  readonly options = new Map<string, SaltValue>();
  pillar: SaltMap = new Map();
  /** The record of the run, as the bucket has it. */
  record: { data: Uint8Array; fixed: Uint8Array } | undefined;
  /** Saves until the worker dies; the one after them is not stored. */
  livesFor = Infinity;
  /** Called when a job is published, before its minions return. */
  onPublish: () => Promise<void> = () => Promise.resolve();
  saves = 0;
  #jids = 0;
  #ownJid = '';
  #onWord: ((word: SaltMap) => void) | undefined;

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
    for (const listener of this.#listeners) listener(tag, () => Promise.resolve(data));
  }

  /** What the function of a call works with, in a new worker. */
  context(jid = this.nextJid()): RunnerContext {
    return {
      client: this.#client(),
      jobs: this.#jobs(),
      out: () => undefined,
      auditSeal: () => Promise.reject(new Error('no seal')),
      master: this.#master(jid),
    };
  }

  /** The run as a worker takes it over. */
  takeOver(jid: string): OwnedRun {
    this.livesFor = Infinity;
    const { data, fixed } = this.record ?? {};
    if (data === undefined || fixed === undefined) throw new Error('there is no record');
    return this.#run(jid, unpackMap(Buffer.from(data)), unpackMap(Buffer.from(fixed)));
  }

  #run(jid: string, data: SaltMap, fixed: SaltMap): OwnedRun {
    const lost = new AbortController();
    const save = (next: SaltMap): Promise<void> => {
      this.saves += 1;
      if (this.saves > this.livesFor) {
        lost.abort();
        return Promise.reject(new RunLostError('the worker is dead'));
      }
      this.record = { data: pack(next), fixed: pack(fixed) };
      return Promise.resolve();
    };
    return {
      jid,
      data,
      fixed,
      lost: lost.signal,
      check: () => undefined,
      save,
      fix: () => Promise.reject(new Error('not asked for')),
      onWord: (handler) => (this.#onWord = handler),
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
        const { fun, tgt, arg } = command;
        const jid = command.jid || this.nextJid();
        const ids = this.#matching(tgt);
        if (ids.length === 0) return undefined;
        const returns: SaltMap = new Map();
        for (const id of ids) {
          const ret = this.#minions.get(id)?.(fun, arg);
          if (ret !== undefined) returns.set(id, mapOf({ return: ret }));
        }
        if (fun !== 'saltutil.find_job') {
          this.published.push({ jid, fun, tgt, arg });
          this.#returned.set(jid, mapOf({ minions: ids, returns }));
        }
        return { jid, minions: ids, returns };
      },
      async *returns(job: { jid: string; minions: string[]; returns: SaltMap }) {
        for (const id of job.minions) {
          const found = mapIn(job.returns, id);
          if (found === undefined) yield { kind: 'missing', id };
          else yield { kind: 'return', id, ret: found.get('return'), jid: job.jid };
        }
      },
    };
    return client as unknown as LocalClient;
  }

  #matching(tgt: unknown): string[] {
    const wanted = Array.isArray(tgt) ? tgt.map(String) : [String(tgt)];
    return [...this.#minions.keys()].filter((id) => wanted.includes('*') || wanted.includes(id));
  }

  #jobs(): JobRecords {
    const jobs = {
      load: (jid: string) => {
        const job = this.#returned.get(jid);
        return Promise.resolve(job && mapOf({ Minions: job.get('minions') ?? [] }));
      },
      returns: (jid: string) =>
        Promise.resolve(mapIn(this.#returned.get(jid) ?? mapOf({}), 'returns') ?? mapOf({})),
    };
    return jobs as unknown as JobRecords;
  }

  #master(jid: string): RunnerMaster {
    const append = (event: { tag: string; body: Uint8Array }) => {
      this.fire(event.tag, unpackMap(Buffer.from(event.body)));
      return Promise.resolve({ duplicate: false });
    };
    const master = {
      call: { jid, user: 'root', principal: 'root' },
      rules: { masterMinionId: 'm_master', runnerReturns: true },
      events: { append },
      option: (name: string) => this.options.get(name),
      pillars: {
        render: (asked: SaltMap) =>
          Promise.resolve(new Map([...this.pillar, ...(mapIn(asked, 'override') ?? [])])),
      },
      files: {
        envs: () => Promise.resolve(new Map([['roots', ['base']]])),
        lists: () => Promise.resolve({ files: this.#paths() }),
        find: (path: string) =>
          Promise.resolve(
            this.#paths().includes(path) ? { path, rel: path, back: 'roots' } : undefined,
          ),
      },
      functions: { run: (call: FunctionCall) => this.#runFunction(call), knows: () => false },
      ownStates: {
        ask: (asked: SaltMap) => Promise.resolve(this.#rendered(asked)),
        grains: () => Promise.resolve(mapOf({ id: 'm_master' })),
        log: (level: string, text: string) => void this.logged.push(`${level}: ${text}`),
      },
      publications: { reserve: () => Promise.resolve(true) },
      nextJid: () => this.nextJid(),
      now: () => Date.now(),
      fire: (tag: string, data: SaltMap) => Promise.resolve(this.fire(tag, data)),
      listen: (onEvent: (tag: string, data: () => Promise<SaltMap>) => void) => {
        this.#listeners.add(onEvent);
        return Promise.resolve({ close: () => void this.#listeners.delete(onEvent) });
      },
      runs: {
        begin: (_kind: string, own: string, data: SaltMap, fixed: SaltMap) => {
          this.#ownJid = own;
          this.record = { data: pack(data), fixed: pack(fixed) };
          return Promise.resolve(this.#run(own, data, fixed));
        },
        find: () => Promise.resolve(undefined),
        list: () => Promise.resolve([]),
        tell: (told: string, word: SaltMap) => {
          const isHere = this.#ownJid === told;
          if (isHere) this.#onWord?.(word);
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
  #runFunction({ fun, jid, kwargs }: FunctionCall): Promise<FunctionOutcome> {
    this.ran.push(fun);
    const success = kwargs.get('fails') !== true;
    const value = `${fun} done`;
    const entry = mapOf({ return: mapOf({ return: value, success }) });
    this.#returned.set(jid, mapOf({ minions: [], returns: mapOf({ m_master: entry }) }));
    return Promise.resolve({ value, success });
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
