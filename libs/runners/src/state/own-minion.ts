import { setTimeout as sleep } from 'node:timers/promises';
import { isJudged } from '@brine/master/functions';
import {
  callHigh,
  checkResult,
  type HighOptions,
  NO_LEDGER,
  type RenderedSls,
  renderHighstate,
  type RunPorts,
  type SlsPort,
  type StateFunction,
  type StepLedger,
} from '@brine/states';
import { mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { isTruthy, pyStr } from '@brine/wire/text';
import { masterOf, type RunnerContext, type RunnerMaster } from '../function.ts';
import { MINION_MODULES } from './minion-modules.ts';
import { minionStates } from './minion-states.ts';
import { type Callable, runStates } from './run-states.ts';
import { testStates } from './test-states.ts';
import { eventStates } from './wait-for-event.ts';
import { pythonError, type StateWorld, unlessCutOff } from './world.ts';

/** Settings for compiling and running states. */
export interface StateSettings {
  readonly saltenv: string;
  readonly pillarenv: string | null;
  /** Pillar of the caller; overrides the minion's own. */
  readonly override: SaltMap;
  readonly test: boolean;
  /** Job id of events; undefined where Salt has none. */
  readonly jid: string | undefined;
  readonly orchestrationJid: string | undefined;
  /** The states are data of the caller, and not in a file of an operator. */
  readonly areGiven?: true;
}

/** Makes a run resumable by another process. */
export interface Keeping {
  readonly ledger: StepLedger;
  readonly cutOff: AbortSignal;
  gate(id: string): Promise<'run' | 'kill'>;
}

/** The minion that a master is to itself: it renders SLS files and runs their states. */
export class OwnMinion {
  readonly #context: RunnerContext;
  readonly #master: RunnerMaster;
  readonly #settings: StateSettings;
  readonly #callable: Callable;
  readonly #grains: SaltMap;
  #pillar: SaltMap;

  /** Makes the pillar of the minion first, as Salt does for each run. */
  static async of(
    context: RunnerContext,
    settings: StateSettings,
    callable: Callable,
  ): Promise<OwnMinion> {
    const master = masterOf(context);
    const grains = await master.ownStates.grains(master.rules.masterMinionId);
    const minion = new OwnMinion(context, settings, callable, grains);
    await minion.#makePillar();
    return minion;
  }

  private constructor(
    context: RunnerContext,
    settings: StateSettings,
    callable: Callable,
    grains: SaltMap,
  ) {
    this.#context = context;
    this.#master = masterOf(context);
    this.#settings = settings;
    this.#callable = callable;
    this.#grains = grains;
    this.#pillar = mapOf({});
  }

  /** Faults of the pillar: no state runs with an incomplete one. */
  get pillarErrors(): readonly string[] {
    const errors = this.#pillar.get('_errors');
    return Array.isArray(errors) ? errors.map(pyStr) : [];
  }

  /** Renders SLS files by their names or patterns (Salt: render_highstate). */
  async compile(mods: readonly string[]): Promise<{
    readonly high: SaltMap;
    readonly errors: readonly string[];
  }> {
    const { saltenv } = this.#settings;
    const autoOrder = isTruthy(this.#master.option('state_auto_order') ?? true);
    return renderHighstate(new Map([[saltenv, mods]]), this.#files(), autoOrder);
  }

  /**
   * Runs high data; resolves with the results by tag, or the faults of the data.
   * @throws RunCutOffError, StateArgumentError
   */
  async run(high: SaltValue, keeping?: Keeping): Promise<SaltMap | string[]> {
    const { orchestrationJid } = this.#settings;
    const result = await callHigh(high, this.ports(keeping), {
      ...this.options(),
      ...(orchestrationJid === undefined ? {} : { orchestrationJid }),
    });
    return result instanceof Map ? new Map(result) : [...result];
  }

  /** Options of the run, from the master's options. */
  options(): HighOptions {
    const { jid, test } = this.#settings;
    const option = (name: string): SaltValue => this.#master.option(name) ?? null;
    const disabled = option('disabled_requisites');
    const most = option('state_max_parallel');
    return {
      id: this.#master.rules.masterMinionId,
      jid,
      test,
      failhard: isTruthy(option('failhard')),
      stateEvents: isTruthy(option('state_events')),
      maxParallel: typeof most === 'number' ? most : 0,
      disabled: Array.isArray(disabled)
        ? disabled.map(pyStr)
        : [disabled].filter(isTruthy).map(pyStr),
    };
  }

  /** The ports of a run. */
  ports(keeping?: Keeping): RunPorts {
    const master = this.#master;
    const functions = this.#functions(keeping);
    const { ownStates } = master;
    return {
      stateFunction: (name) => functions.get(name),
      missing: (name) => (MINION_MODULES.has(name.split('.')[0] ?? '') ? NOT_HERE : undefined),
      call: (fun, args, kwargs) => this.#call(fun, args, kwargs),
      reloadPillar: () => this.#makePillar(),
      now: () => performance.timeOrigin + performance.now(),
      sleep: (ms) => unlessCutOff(sleep(ms), keeping?.cutOff),
      gate: (id) => keeping?.gate(id) ?? Promise.resolve('run'),
      fire: async (tag, data) => {
        // A failed progress event must not end the run.
        await master.fire(tag, data).catch((error: unknown) => {
          ownStates.log('warning', `an event of a state was lost: ${String(error)}`);
        });
      },
      log: (level, text) => ownStates.log(level, text),
      ledger: keeping?.ledger ?? NO_LEDGER,
    };
  }

  #functions(keeping: Keeping | undefined): ReadonlyMap<string, StateFunction> {
    const world: StateWorld = {
      context: this.#context,
      master: this.#master,
      pillar: () => this.#pillar,
      call: (fun, args, kwargs) => this.#call(fun, args, kwargs),
      isOwned: keeping !== undefined,
      cutOff: keeping?.cutOff,
    };
    const all = [
      ...minionStates(world),
      ...runStates(world, this.#callable),
      ...eventStates(world),
      ...testStates(world),
    ];
    return new Map(all.map((fun) => [fun.name, fun]));
  }

  async #makePillar(): Promise<void> {
    const { pillars } = this.#master;
    if (pillars === undefined) throw new Error('this master makes no pillars');
    this.#pillar = await pillars.render(new Map(this.#about()).set('ext', null));
  }

  #about(): SaltMap {
    const { saltenv, pillarenv, override } = this.#settings;
    const id = this.#master.rules.masterMinionId;
    return mapOf({ id, grains: this.#grains, saltenv, pillarenv, override });
  }

  #asked(more: Readonly<Record<string, SaltValue>>): SaltMap {
    return new Map([...this.#about(), ['pillar', this.#pillar], ...mapOf(more)]);
  }

  #files(): SlsPort {
    const { files } = this.#master;
    const environments = once(async () => {
      const byBackend = [...(await files.envs()).values()];
      return [...new Set(['base', ...byBackend.flat()])];
    });
    const names = new Map<string, () => Promise<readonly string[]>>();
    return {
      environments,
      names: (saltenv) => {
        const list = names.get(saltenv) ?? once(() => this.#slsNames(saltenv));
        names.set(saltenv, list);
        return list();
      },
      render: (sls, saltenv) => this.#render(sls, saltenv),
    };
  }

  async #slsNames(saltenv: string): Promise<readonly string[]> {
    const { files } = await this.#master.files.lists(saltenv);
    const found = files
      .filter((path) => path.endsWith('.sls'))
      .map((path) => path.replaceAll('/', '.').replace(/(?:\.init)?\.sls$/, ''));
    return [...new Set(found)].sort();
  }

  async #render(sls: string, saltenv: string): Promise<RenderedSls | undefined> {
    // The path of a salt:// URL has no leading slash (Salt: salt/utils/url.py parse).
    const below = sls.replaceAll(/[.\\]/g, '/');
    for (const path of [`${below}.sls`, `${below}/init.sls`].map((one) =>
      one.replace(/^\/+/, ''),
    )) {
      if ((await this.#master.files.find(path, saltenv)) === undefined) continue;
      const answer = await this.#ask(this.#asked({ saltenv, sls, path }));
      const error = textOf(answer, 'error');
      if (error === undefined) return { path, value: answer.get('value') ?? null };
      this.#master.ownStates.log('error', `Rendering SLS '${saltenv}:${sls}' failed: ${error}`);
      return { path, error };
    }
    return undefined;
  }

  async #call(fun: string, args: readonly SaltValue[], kwargs: SaltMap): Promise<SaltValue> {
    const { call } = this.#master;
    if (this.#settings.areGiven === true && isJudged(this.#master, call)) {
      throw pythonError('PermissionError', `${fun} is not allowed: ${NOT_FROM_A_FILE}`);
    }
    const answer = await this.#ask(this.#asked({ fun, args: [...args], kwargs }));
    const error = textOf(answer, 'error');
    if (error !== undefined) throw pythonError(textOf(answer, 'kind') ?? 'Exception', error);
    return answer.get('value') ?? null;
  }

  #ask(asked: SaltMap): Promise<SaltMap> {
    return this.#master.ownStates.ask(asked, async (fun, args, kwargs) => {
      const { value } = await this.#master.run(fun, { args, kwargs });
      return value;
    });
  }
}

const NOT_FROM_A_FILE =
  'states that a caller with limited rights gives as data call no function of the master itself';

const NOT_HERE =
  'A stock master runs it on its own host; a Brine master runs only states of salt and test. ' +
  'Apply it to a minion by salt.state.';

/** Salt's wrapping of the results of the master's own minion. */
export function wrapped(id: string, running: SaltMap | string[]) {
  const data = mapOf({ [id]: running });
  const retcode = checkResult(data) ? 0 : 1;
  return { value: mapOf({ data, outputter: 'highstate', retcode }), retcode };
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= work());
}
