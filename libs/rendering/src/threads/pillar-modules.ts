import { randomUUID } from 'node:crypto';
import type { PillarMinion, PythonModules, RenderStep } from '@brine/pillar';
import { type BlockingCalls, PythonCallError } from '@brine/python-host';
import { mapOf, type SaltMap, type SaltValue } from '@brine/wire';

/** Modules in Python for one pillar. Each call blocks the thread until its answer. */
export class PillarModules implements PythonModules {
  readonly #calls: BlockingCalls;
  readonly #about: Readonly<Record<string, SaltValue>>;

  constructor(calls: BlockingCalls, { id, grains, saltenv, pillarenv }: PillarMinion) {
    this.#calls = calls;
    const minion = mapOf({ id, grains, saltenv, pillarenv });
    // Salt's loaders are shared by all calls of a pillar, and new for the next pillar.
    this.#about = { minion, pillar_run: randomUUID() };
  }

  knows(fun: string, pillar: SaltMap): boolean {
    return this.#calls.call('pillar', 'knows', this.#given({ fun, pillar })) === true;
  }

  call(fun: string, args: readonly SaltValue[], kwargs: SaltMap, pillar: SaltMap): SaltValue {
    const given = this.#given({ fun, args: [...args], kwargs, pillar });
    return this.#calls.call('pillar', 'function', given);
  }

  render(step: RenderStep, pillar: SaltMap): SaltValue | undefined {
    const { file: path, ...others } = step;
    return this.#known('render', 'render', this.#given({ ...others, path, pillar }));
  }

  /**
   * The data of one of Salt's external pillars; undefined for an unknown kind.
   * @throws PythonCallError with Salt's text
   */
  external(name: string, args: SaltValue, pillar: SaltMap): SaltValue | undefined {
    return this.#known('pillar', 'external', this.#given({ name, args, pillar }));
  }

  #given(more: Readonly<Record<string, SaltValue>>): SaltMap {
    return mapOf({ ...this.#about, ...more });
  }

  #known(use: 'pillar' | 'render', op: string, given: SaltMap): SaltValue | undefined {
    try {
      return this.#calls.call(use, op, given);
    } catch (error) {
      if (error instanceof PythonCallError && error.code === 'unknown') return undefined;
      throw error;
    }
  }
}
