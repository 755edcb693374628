import { str, truth } from '@brine/jinja';
import { matchMinion } from '@brine/target';
import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import type { PillarMinion, PillarOptions, PillarPorts } from './ports.ts';
import { RenderError, type SlsRenderer } from './render-sls.ts';
import { findSls } from './sls-names.ts';

/** SLS files by environment that a minion gets, in order, and those that may be missing. */
export interface TopMatches {
  readonly matches: ReadonlyMap<string, readonly string[]>;
  readonly mayMiss: ReadonlyMap<string, readonly string[]>;
}

type Entry = ReturnType<typeof readTarget>;
type Merged = Map<string, Map<string, Entry>>;

/** Reads the top files and judges their targets (Salt: salt/pillar/__init__.py get_tops). */
export class TopFiles {
  readonly #ports: PillarPorts;
  readonly #options: PillarOptions;
  readonly #minion: PillarMinion;
  readonly #renderer: SlsRenderer;
  readonly errors: string[] = [];

  constructor(
    ports: PillarPorts,
    options: PillarOptions,
    minion: PillarMinion,
    renderer: SlsRenderer,
  ) {
    this.#ports = ports;
    this.#options = options;
    this.#minion = minion;
    this.#renderer = renderer;
  }

  /** The top files' data, environments in the order of `pillar_roots`. */
  read(): SaltMap[] {
    const tops: SaltMap[] = [];
    const path = this.#options.stateTop.replace(/^salt:\/\//, '').replace(/^\//, '');
    try {
      for (const saltenv of this.#environments()) {
        if (this.#ports.files.read(saltenv, path) === undefined) continue;
        this.#readOne(tops, saltenv, path, new Set());
      }
    } catch (error) {
      if (!(error instanceof RenderError)) throw error;
      this.errors.push(`Rendering Primary Top file failed, render error:\n${error.message}`);
      this.#ports.log('critical', `Pillar rendering failed for minion ${this.#minion.id}`);
    }
    return tops;
  }

  #environments(): readonly string[] {
    const all = ['base', ...this.#ports.files.environments.filter((name) => name !== 'base')];
    const { pillarenv, saltenv } = this.#minion;
    if (pillarenv !== null)
      return this.#ports.files.environments.includes(pillarenv) ? [pillarenv] : [];
    if (this.#options.mergingStrategy !== 'none') return all;
    const only = saltenv ?? 'base';
    return all.includes(only) ? [only] : [];
  }

  #readOne(tops: SaltMap[], saltenv: string, path: string, done: Set<string>): void {
    const source = { saltenv, path, sls: '', defaults: new Map() };
    const top = this.#renderer.render(source);
    if (!isMap(top)) return;
    const include = top.get('include');
    top.delete('include');
    tops.push(top);
    for (const sls of Array.isArray(include) ? include : []) {
      if (typeof sls !== 'string' || done.has(sls)) continue;
      done.add(sls);
      const file = findSls(this.#ports.files, saltenv, sls);
      try {
        if (file !== undefined) this.#readOne(tops, saltenv, file, done);
      } catch (error) {
        if (!(error instanceof RenderError)) throw error;
        this.errors.push(`Rendering Top file ${sls} failed, render error:\n${error.message}`);
      }
    }
  }

  /** The targets in these top files that match this minion. */
  match(tops: readonly SaltMap[], pillar: SaltMap): TopMatches {
    const mayMiss = new Map<string, string[]>();
    const matches = new Map<string, string[]>();
    for (const [saltenv, targets] of this.#merge(tops, mayMiss)) {
      const { pillarenv } = this.#minion;
      if (pillarenv !== null && saltenv !== pillarenv) continue;
      const sorted = [...targets].sort(([, a], [, b]) => a.order - b.order);
      for (const [target, { data }] of sorted) {
        if (!this.#fits(target, data, pillar)) continue;
        const list = matches.get(saltenv) ?? [];
        for (const item of data) {
          if (typeof item === 'string' && !list.includes(item)) list.push(item);
        }
        matches.set(saltenv, list);
      }
    }
    return { matches, mayMiss };
  }

  /** The top files as one, targets in their order. */
  shown(tops: readonly SaltMap[]): SaltMap {
    const shown: SaltMap = new Map();
    for (const [saltenv, targets] of this.#merge(tops, new Map())) {
      const sorted = [...targets].sort(([, a], [, b]) => a.order - b.order);
      shown.set(saltenv, new Map(sorted.map(([target, { data }]) => [target, data])));
    }
    return shown;
  }

  #merge(tops: readonly SaltMap[], mayMiss: Map<string, string[]>): Merged {
    const merged: Merged = new Map();
    for (const top of tops) {
      for (const [saltenv, targets] of top) {
        const name = str(saltenv);
        const known = merged.get(name) ?? new Map<string, Entry>();
        merged.set(name, known);
        if (!isMap(targets)) {
          this.errors.push('Error encountered while rendering pillar top file.');
          return new Map();
        }
        for (const [target, list] of targets) {
          if (!Array.isArray(list) && !isMap(list) && typeof list !== 'string') {
            this.errors.push('Error encountered while rendering pillar top file.');
            return new Map();
          }
          const entry = readTarget(isMap(list) ? [...list.keys()] : [...list]);
          known.set(str(target), entry);
          if (entry.mayMiss) mayMiss.set(name, [...(mayMiss.get(name) ?? []), ...entry.states]);
        }
      }
    }
    return merged;
  }

  #fits(target: string, data: readonly SaltValue[], pillar: SaltMap): boolean {
    let tgtType = 'compound';
    for (const item of data) {
      const match = isMap(item) ? item.get('match') : undefined;
      if (typeof match === 'string') tgtType = match;
    }
    const { id, grains } = this.#minion;
    const nodegroups = this.#options.nodegroups;
    if (tgtType === 'nodegroup') {
      return matchMinion(
        { tgt: `N@${target}`, tgtType: 'compound' },
        { id, grains, pillar, nodegroups },
      );
    }
    return matchMinion({ tgt: target, tgtType }, { id, grains, pillar, nodegroups });
  }
}

function readTarget(list: readonly SaltValue[]): {
  data: SaltValue[];
  order: number;
  mayMiss: boolean;
  states: string[];
} {
  const states = [...new Set(list.filter((item): item is string => typeof item === 'string'))];
  const maps = list.filter(isMap);
  let order = 0;
  for (const map of maps) {
    const given = map.get('order');
    if (given !== undefined) order = Number.isInteger(Number(given)) ? Number(given) : 0;
  }
  const data: SaltValue[] = [...maps.filter((map) => map.has('match')), ...states];
  const mayMiss = maps.some((map) => truth(map.get('ignore_missing') ?? null));
  return { data, order, mayMiss, states };
}
