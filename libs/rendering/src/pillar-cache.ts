import type { MasterOptions } from '@brine/config';
import type { Pillars } from '@brine/master';
import type { BucketPillars } from '@brine/master-state';
import { mergePillars } from '@brine/pillar';
import type { Trouble } from '@brine/tasks';
import { mapIn, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import type { PillarMaker } from './pillar-threads.ts';

/**
 * Keeps the pillars of a maker: for targets by pillar, and for `pillar_cache`. A pillar of the
 * command line is merged over the pillar that was made or kept without it (Salt: PillarCache).
 */
export class CachedPillars implements Pillars {
  readonly #maker: PillarMaker;
  readonly #kept: BucketPillars;
  readonly #options: MasterOptions;
  readonly #onTrouble: Trouble;

  constructor(maker: PillarMaker, kept: BucketPillars, options: MasterOptions, onTrouble: Trouble) {
    this.#maker = maker;
    this.#kept = kept;
    this.#options = options;
    this.#onTrouble = onTrouble;
  }

  async render(asked: SaltMap): Promise<SaltMap> {
    const { minionDataCache, pillarCache } = this.#options;
    if (!minionDataCache && !pillarCache) return this.#maker.render(asked);
    const own = (await this.#fresh(asked)) ?? (await this.#made(asked));
    const override = mapIn(asked, 'override') ?? mapOf({});
    if (override.size === 0) return own;
    const { pillarSourceMergingStrategy, renderer, pillarMergeLists } = this.#options;
    return mergePillars(own, override, pillarSourceMergingStrategy, renderer, pillarMergeLists);
  }

  ready(): Promise<void> {
    return this.#kept.ready();
  }

  of(id: string): ReadonlyMap<SaltValue, SaltValue> | undefined {
    return this.#kept.of(id);
  }

  async kept(id: string): ReturnType<Pillars['kept']> {
    const kept = await this.#kept.fetch(id, this.#envOf(mapOf({})));
    return kept && { data: kept.pillar, atMs: kept.madeMs };
  }

  async #fresh(asked: SaltMap): Promise<SaltMap | undefined> {
    const { pillarCache, pillarCacheTtl } = this.#options;
    if (!pillarCache || asked.get('clean_cache') === true) return undefined;
    if (!this.#isKept(asked)) return undefined;
    const kept = await this.#kept.fetch(textOf(asked, 'id') ?? '', this.#envOf(asked));
    if (kept === undefined || Date.now() - kept.madeMs > pillarCacheTtl * 1000) return undefined;
    return kept.pillar;
  }

  async #made(asked: SaltMap): Promise<SaltMap> {
    const pillar = await this.#maker.render(new Map(asked).set('override', mapOf({})));
    if (!this.#isKept(asked)) return pillar;
    const { pillarCache } = this.#options;
    try {
      await this.#kept.keep(textOf(asked, 'id') ?? '', this.#envOf(asked), pillar, pillarCache);
    } catch (err) {
      // The minion gets its pillar in any case.
      this.#onTrouble('a pillar was not kept', err);
    }
    return pillar;
  }

  /** Only environments of the master's file are kept, since minions may name any. */
  #isKept(asked: SaltMap): boolean {
    const env = this.#envOf(asked);
    if (mapIn(asked, 'ext') !== undefined) return false;
    return env === null || Object.hasOwn(this.#options.pillarRoots, env);
  }

  #envOf(asked: SaltMap): string | null {
    const { pillarenv, pillarenvFromSaltenv } = this.#options;
    const saltenv = pillarenvFromSaltenv ? textOf(asked, 'saltenv') : undefined;
    const configured = typeof pillarenv === 'string' ? pillarenv : null;
    return textOf(asked, 'pillarenv') ?? saltenv ?? configured;
  }
}
