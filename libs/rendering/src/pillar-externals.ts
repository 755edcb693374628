import { join } from 'node:path';
import {
  compilePillar,
  mergePillars,
  type PillarMinion,
  type PillarOptions,
  type PillarPorts,
  refusedOnDemand,
  saltclassPillar,
  textRenderer,
} from '@brine/pillar';
import { isMap, mapOf, type SaltMap, type SaltValue, textOf } from '@brine/wire';
import { ClassTree, DEFAULT_CLASS_TREE } from './sources/class-tree.ts';
import type { GitPlace } from './sources/git-checkouts.ts';
import { type GitPillarDefaults, gitPillarRemotes } from './sources/git-remotes.ts';
import { readHttp } from './sources/http.ts';
import { type PostgresSettings, readPostgres } from './sources/postgres-rows.ts';
import { askExternal } from './sources/quick-sources.ts';
import { RootFiles } from './sources/root-files.ts';
import type { ExternalSettings } from './sources/source-settings.ts';

/** The settings of external pillars. */
export interface ExternalsData {
  readonly gitDefaults: GitPillarDefaults;
  /** `git_pillar_includes`: files of other remotes of the environment may be included. */
  readonly gitIncludes: boolean;
  readonly postgres: PostgresSettings;
}

/** The settings that are the same for each external pillar. */
type SettingsForAll = Omit<ExternalSettings, 'render' | 'pillar'> & {
  /** The directory with the files of a git pillar. @throws Error if it can not be made */
  readonly checkout: (place: GitPlace) => string;
};

type Outcome = { readonly value: SaltValue } | { readonly error: Error };

/**
 * The external pillars of one minion. Slow sources (`http_json`, `http_yaml`, `postgres`) are asked
 * before, since a pillar is compiled without waiting.
 */
export class Externals {
  readonly #data: ExternalsData;
  readonly #settings: SettingsForAll;
  readonly #options: PillarOptions;
  readonly #early = new Map<string, Map<SaltValue, Outcome>>();

  constructor(data: ExternalsData, settings: SettingsForAll, options: PillarOptions) {
    this.#data = data;
    this.#settings = settings;
    this.#options = options;
  }

  /**
   * Asks the slow sources. A source that the minion names is asked only if the minion may use it.
   * Never rejects: `ask` throws the error.
   */
  async askEarly(minion: PillarMinion): Promise<void> {
    const { extPillar, excludeExtPillar } = this.#options;
    const onDemand = refusedOnDemand(this.#options, minion).length === 0 ? minion.ext : null;
    const entries = [...(Array.isArray(extPillar) ? extPillar : []), onDemand];
    for (const entry of entries) {
      if (!(entry instanceof Map)) continue;
      for (const [name, args] of entry) {
        if (typeof name !== 'string' || excludeExtPillar.includes(name)) continue;
        const asking = this.#later(name, minion, args);
        if (asking === undefined) continue;
        const outcome = await asking.then(
          (value): Outcome => ({ value }),
          (error: unknown): Outcome => ({ error: error as Error }),
        );
        const known = this.#early.get(name) ?? new Map<SaltValue, Outcome>();
        this.#early.set(name, known.set(args, outcome));
      }
    }
  }

  #later(name: string, minion: PillarMinion, args: SaltValue): Promise<SaltValue> | undefined {
    const { log } = this.#settings;
    switch (name) {
      case 'http_json':
        return readHttp('json', minion, args, this.#settings);
      case 'http_yaml':
        return readHttp('yaml', minion, args, this.#settings);
      case 'postgres':
        return readPostgres(minion.id, args, this.#data.postgres, log);
      default:
        return undefined;
    }
  }

  /** As `PillarPorts.external`; `ports` are those of the pillar in progress. */
  ask(
    name: string,
    minion: PillarMinion,
    args: SaltValue,
    { ports, pillar }: { readonly ports: PillarPorts; readonly pillar: SaltMap },
  ): SaltValue | undefined {
    const early = this.#early.get(name)?.get(args);
    if (early !== undefined) {
      if ('error' in early) throw early.error;
      return early.value;
    }
    // A source that the minion names (`on_demand_ext_pillar`) may contain templates of its own.
    const chosen = minion.ext?.get(name) === args;
    const safe = chosen ? withoutHost(ports) : ports;
    const options = chosen ? { ...this.#options, opts: mapOf({}) } : this.#options;
    if (name === 'git') return this.#git(minion, args, { ports: safe, options, chosen });
    if (name === 'saltclass') {
      const files = new ClassTree(classPath(args));
      const { log } = this.#settings;
      const functions = safe.functions(minion);
      const { outside, python } = safe;
      const classPorts = { files, outside, log, functions, python };
      return saltclassPillar(classPorts, options, minion, pillar);
    }
    const render = textRenderer(safe, options, minion);
    return askExternal(name, minion, args, { ...this.#settings, render, pillar });
  }

  /** A pillar of the files of each remote (Salt: salt/pillar/git_pillar.py). */
  #git(
    minion: PillarMinion,
    args: SaltValue,
    {
      ports,
      options,
      chosen,
    }: {
      readonly ports: PillarPorts;
      readonly options: PillarOptions;
      /** The minion chose all of its refs. */
      readonly chosen: boolean;
    },
  ): SaltMap {
    const { gitDefaults, gitIncludes } = this.#data;
    const { mergingStrategy, mergeLists } = options;
    const asked = minion.pillarenv ?? minion.saltenv;
    const places = gitPillarRemotes(args, gitDefaults, asked).map((remote) => {
      const { url, refs, ownRefs } = remote;
      const place = { url, refs, ownRefs: chosen ? [] : ownRefs };
      const checkout = this.#settings.checkout(place);
      return { env: remote.env, checkout, dir: join(checkout, remote.root) };
    });
    let pillar: SaltMap = new Map();
    for (const place of places) {
      if (minion.pillarenv !== null && place.env !== minion.pillarenv) continue;
      const others = gitIncludes ? places : [];
      const beside = others.filter(({ env, dir }) => env === place.env && dir !== place.dir);
      const roots = [place, ...beside];
      const files = new RootFiles(
        { [place.env]: roots.map(({ dir }) => dir) },
        roots.map(({ checkout }) => checkout),
      );
      const own = compilePillar(
        { ...ports, files },
        { ...options, extPillar: [], extPillarFirst: false },
        { ...minion, saltenv: place.env, override: new Map(), ext: null },
      );
      pillar = mergePillars(pillar, own, mergingStrategy, 'yaml', mergeLists);
    }
    return pillar;
  }
}

/**
 * The ports for files that a minion chose. They may contain any ciphertext and any template. So
 * nothing of them is decrypted, nothing runs as Python, and no function or filter reaches this
 * host.
 */
function withoutHost(ports: PillarPorts): PillarPorts {
  return {
    ...ports,
    decrypt: (value) => value,
    python: undefined,
    functions: () => new Map(),
    outside: { now: ports.outside.now, random: ports.outside.random },
  };
}

/** The last `path` among the arguments, as in Salt. */
function classPath(args: SaltValue): string {
  const given = Array.isArray(args) ? args : [args];
  const paths = given.map((one) => (isMap(one) ? textOf(one, 'path') : undefined));
  return paths.findLast((path) => path !== undefined) ?? DEFAULT_CLASS_TREE;
}
