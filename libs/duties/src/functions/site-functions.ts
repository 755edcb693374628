import type { FunctionCall, FunctionOutcome } from '@brine/master';
import { PythonCallError, type PythonCalls } from '@brine/python-host';
import type { Shown, SiteDocs } from '@brine/runners';
import type { Trouble } from '@brine/tasks';
import { boolOf, intOf, isMap, mapIn, mapOf, type SaltMap, type SaltValue } from '@brine/wire';

/** Age below which a list is trusted when it lacks a name, ms. */
const LIST_MS = 2_000;

export interface SitePorts {
  readonly python: PythonCalls;
  /** Fires an event on the bus of the whole cluster. */
  readonly fire: (tag: string, data: SaltMap) => Promise<void>;
  readonly onTrouble: Trouble;
  readonly now: () => number;
}

/** Runners and wheels of the site, in Python. Those of Salt itself are not included. */
export class SiteFunctions implements SiteDocs {
  readonly #ports: SitePorts;
  #list: Promise<SaltMap> | undefined;
  #reading: Promise<SaltMap> | undefined;
  #listedMs = 0;

  constructor(ports: SitePorts) {
    this.#ports = ports;
  }

  /** Documentation by name; empty if Python does not answer, which is logged. */
  async docs(kind: FunctionCall['kind']): Promise<SaltMap> {
    this.#list ??= this.#readOnce();
    return mapIn(await this.#list, kind) ?? mapOf({});
  }

  /** Reads the names again after modules were synchronised. */
  async refresh(): Promise<void> {
    this.#list = this.#readOnce();
    await this.#list;
  }

  /** True if the function exists; reads the list again if it may be new. */
  async knows(kind: FunctionCall['kind'], fun: string): Promise<boolean> {
    if ((await this.docs(kind)).has(fun)) return true;
    if (this.#ports.now() - this.#listedMs < LIST_MS) return false;
    await this.refresh();
    return (await this.docs(kind)).has(fun);
  }

  /** Runs a function. Never rejects: a failure is an outcome. */
  async run(call: FunctionCall): Promise<FunctionOutcome> {
    const { kind, fun, jid, user, args, kwargs } = call;
    const base = `salt/${kind === 'runner' ? 'run' : 'wheel'}/${jid}`;
    const onEvent = (tag: string, data: SaltValue): void => {
      const given = isMap(data) ? data : mapOf({ data });
      this.#ports.fire(`${base}/${tag}`, given).catch((err: unknown) => {
        this.#ports.onTrouble('an event of a runner was lost', err);
      });
    };
    try {
      const given = mapOf({ kind, fun, jid, user, args: [...args], kwargs });
      return outcomeIn(await this.#ports.python.call('runner', 'run', given, onEvent));
    } catch (error) {
      const isUnknown = error instanceof PythonCallError && error.code === 'unknown';
      const text = isUnknown ? `'${fun}' is not available.` : (error as Error).message;
      const value = `Exception occurred in ${kind} ${fun}: ${text}`;
      return { value, success: false, retcode: 1 };
    }
  }

  /** Runs a runner for another one. @throws Error with the text of its failure */
  async shown(call: FunctionCall): Promise<Shown> {
    const { value, success, retcode } = await this.run(call);
    if (!success && typeof value === 'string') throw new Error(value);
    return { value, ...(retcode === undefined ? {} : { retcode }) };
  }

  /** Concurrent callers share one read. */
  #readOnce(): Promise<SaltMap> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #read(): Promise<SaltMap> {
    try {
      const found = await this.#ports.python.call('runner', 'functions', mapOf({}));
      return isMap(found) ? found : mapOf({});
    } catch (err) {
      this.#ports.onTrouble('the functions of brine.python are not known', err);
      return mapOf({});
    } finally {
      this.#listedMs = this.#ports.now();
    }
  }
}

function outcomeIn(value: SaltValue): FunctionOutcome {
  if (!isMap(value)) throw new Error('Python gave no outcome');
  const retcode = intOf(value, 'retcode') ?? 0;
  const success = boolOf(value, 'success') ?? false;
  // In Salt, data that are no states are no success, but salt-run exits with 0.
  const code = success && retcode === 0 ? {} : { retcode };
  return { value: value.get('value') ?? null, success, ...code };
}
