import type { PrivateKey } from '@brine/crypt';
import type { Log } from '@brine/tasks';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { masterAccess } from './channel/master-access.ts';
import { MasterSession } from './channel/session.ts';
import { bindArguments, splitArguments } from './functions/bind.ts';
import type { FunctionTable } from './functions/minion-function.ts';
import { ownFunctions } from './functions/own-functions.ts';
import { hasFailed } from './functions/run-function.ts';
import { docsOf } from './functions/sys-functions.ts';
import { hostFunctions } from './modules/index.ts';
import type { Clock, MasterKeyFile, MasterPort } from './ports.ts';
import type { MinionSettings } from './settings.ts';

/** The parts of `salt-call`. */
export interface CallerParts {
  readonly settings: MinionSettings;
  readonly key: PrivateKey;
  readonly masterKeyFile: MasterKeyFile;
  /** Undefined for `--local`. */
  readonly master: MasterPort | undefined;
  readonly clock: Clock;
  readonly log: Log;
  collectGrains(): Promise<SaltMap>;
  config(): SaltMap;
}

/** The outcome of a function for `salt-call`. */
export type CallOutcome =
  | {
      readonly kind: 'done';
      readonly value: SaltValue;
      readonly retcode: number;
      readonly out: string | undefined;
    }
  /** An unknown function; `docs` are those whose names begin alike. */
  | { readonly kind: 'missing'; readonly docs: SaltMap }
  /** The function threw: an ArgumentError, InvocationError, ExecutionError, or any other. */
  | { readonly kind: 'thrown'; readonly error: unknown; readonly doc: string };

/** Runs functions as a minion that receives no jobs (Salt: salt/cli/caller.py). */
export class Caller {
  readonly #parts: CallerParts;
  readonly #session: MasterSession | undefined;
  readonly #table: FunctionTable;
  readonly #signal: AbortSignal;
  #grains: SaltMap = new Map();
  #pillar: SaltMap = new Map();

  constructor(parts: CallerParts, signal: AbortSignal) {
    this.#parts = parts;
    this.#signal = signal;
    const { master } = parts;
    this.#session = master === undefined ? undefined : new MasterSession({ ...parts, master });
    const own = {
      grains: () => this.#grains,
      pillar: () => this.#pillar,
      jobs: () => [],
      signalJob: () => false,
      refresh: () => this.begin(),
    };
    const access =
      this.#session === undefined ? undefined : masterAccess(parts, this.#session, signal);
    const table = ownFunctions(
      { own, master: access, config: () => parts.config() },
      hostFunctions,
    );
    this.#table = new Map([...hostFunctions, ...table]);
  }

  /**
   * Collects grains and, with a master, signs in and gets the pillar.
   * @throws MinionError if the master refuses the log-in or gives no pillar
   */
  async begin(): Promise<void> {
    this.#grains = await this.#parts.collectGrains();
    if (this.#session === undefined) return;
    const pillar = await this.#session.channel.pillar(this.#grains, this.#request());
    this.#pillar = isMap(pillar) ? pillar : mapOf({});
  }

  /** The grains that `begin` collected. */
  get grains(): SaltMap {
    return this.#grains;
  }

  /** The docs of the functions that match; of all without a glob. */
  docs(glob?: string): SaltMap {
    return docsOf(this.#table, glob === undefined ? [] : [glob]);
  }

  /** True for a function that this minion has. */
  has(name: string): boolean {
    return this.#table.has(name);
  }

  /** Runs a function in this process; named arguments come as in a publication. */
  async call(name: string, given: readonly SaltValue[], jid: string): Promise<CallOutcome> {
    const fun = this.#table.get(name);
    if (fun === undefined) return { kind: 'missing', docs: docsOf(this.#table, [`${name}*`]) };
    let retcode = 0;
    try {
      const published = mapOf({ fun: name, pid: process.pid, jid, tgt: 'salt-call' });
      const bound = bindArguments(name, fun, splitArguments(given), published);
      const value = await fun.run({ ...bound, setRetcode: (code) => (retcode = code) });
      if (retcode === 0 && isMap(value) && hasFailed(value)) retcode = 1;
      return { kind: 'done', value, retcode, out: fun.out };
    } catch (error) {
      return { kind: 'thrown', error, doc: fun.doc };
    }
  }

  /** Reports the result of a function to the master, as a job of its own. @throws MinionError */
  async send(load: SaltMap): Promise<void> {
    await this.#session?.send(load, this.#request());
  }

  #request() {
    const { requestChannelTimeout, requestChannelTries } = this.#parts.settings;
    const timeoutMs = requestChannelTimeout * 1000;
    return { timeoutMs, tries: requestChannelTries, signal: this.#signal };
  }
}
