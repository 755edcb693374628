import { equal, str, truth } from '@brine/jinja';
import { matchMinion, PythonRegex, RegexError, Work, WorkError } from '@brine/target';
import { isMap, SaltFloat, type SaltMap, type SaltValue } from '@brine/wire';
import type { PillarMinion, PillarOptions, PillarPorts } from './ports.ts';
import { pythonType, RaisedError, walked } from './raised.ts';
import { RenderError, type SlsRenderer } from './render-sls.ts';
import { findSls } from './sls-names.ts';

/** SLS files by environment that a minion gets, in order, and those that may be missing. */
export interface TopMatches {
  readonly matches: ReadonlyMap<string, readonly string[]>;
  readonly mayMiss: ReadonlyMap<string, readonly string[]>;
}

/** Kinds of targets that a pillar's top file may name; any other is an error. */
const MATCHERS = [
  ...['glob', 'list', 'pcre', 'grain', 'grain_pcre', 'pillar', 'pillar_exact', 'pillar_pcre'],
  ...['ipcidr', 'range', 'compound', 'nodegroup'],
];

const NOT_A_TOP = 'Error encountered while rendering pillar top file.';

/** The files of one environment that are its top file: that itself, then those it includes. */
interface Tops {
  readonly saltenv: string;
  readonly files: SaltValue[];
}

/** The entry of one target in a top file. */
interface Entry {
  readonly data: SaltValue[];
  readonly order: number;
  readonly mayMiss: boolean;
  readonly states: readonly string[];
}

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

  /**
   * The top files' data, environments in the order of `pillar_roots`.
   * @throws RaisedError where one has a form that Salt fails at
   */
  read(): SaltValue[] {
    const tops = this.#primary();
    const includes = tops.map(({ files }) => files.flatMap((top) => takeIncludes(top)));
    // As in Salt, an included file includes no others.
    tops.forEach((top, at) => this.#include(top, includes[at] ?? []));
    return tops.flatMap(({ files }) => files);
  }

  #primary(): Tops[] {
    const tops: Tops[] = [];
    const path = this.#options.stateTop.replace(/^salt:\/\//, '').replace(/^\/+/, '');
    try {
      for (const saltenv of this.#environments()) {
        if (this.#ports.files.read(saltenv, path) === undefined) continue;
        tops.push({ saltenv, files: [this.#render(saltenv, path)] });
      }
    } catch (error) {
      if (!(error instanceof RenderError)) throw error;
      this.errors.push(`Rendering Primary Top file failed, render error:\n${error.message}`);
      this.#ports.log('critical', `Pillar rendering failed for minion ${this.#minion.id}`);
    }
    return tops;
  }

  #render(saltenv: string, path: string): SaltValue {
    return this.#renderer.render({ saltenv, path, sls: '', defaults: new Map() });
  }

  #include({ saltenv, files }: Tops, includes: readonly SaltValue[]): void {
    const done: SaltValue[] = [];
    for (const sls of includes) {
      if (done.some((known) => equal(known, sls))) continue;
      done.push(sls);
      try {
        const path = findSls(this.#ports.files, saltenv, nameOf(sls));
        if (path !== undefined) files.push(this.#render(saltenv, path));
      } catch (error) {
        if (!(error instanceof RenderError)) throw error;
        this.errors.push(`Rendering Top file ${str(sls)} failed, render error:\n${error.message}`);
      }
    }
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

  /**
   * The targets in these top files that match this minion.
   * @throws RaisedError where one has a form that Salt fails at
   */
  match(tops: readonly SaltValue[], pillar: SaltMap): TopMatches {
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

  /** The top files as one, targets in their order. @throws RaisedError as `match` */
  shown(tops: readonly SaltValue[]): SaltMap {
    const shown: SaltMap = new Map();
    for (const [saltenv, targets] of this.#merge(tops, new Map())) {
      const sorted = [...targets].sort(([, a], [, b]) => a.order - b.order);
      shown.set(saltenv, new Map(sorted.map(([target, { data }]) => [target, data])));
    }
    return shown;
  }

  #merge(tops: readonly SaltValue[], mayMiss: Map<string, string[]>): Merged {
    const merged: Merged = new Map();
    for (const top of tops) {
      if (!isMap(top)) {
        const text = `'${pythonType(top)}' object has no attribute 'items'`;
        throw new RaisedError('AttributeError', text);
      }
      for (const [saltenv, targets] of top) {
        if (saltenv === 'include') continue;
        const name = str(saltenv);
        const known = merged.get(name) ?? new Map<string, Entry>();
        merged.set(name, known);
        const entries = readTargets(targets);
        if (entries === undefined) {
          this.errors.push(NOT_A_TOP);
          return new Map();
        }
        for (const [target, entry] of entries) {
          known.set(str(target), entry);
          if (entry.mayMiss) mayMiss.set(name, [...(mayMiss.get(name) ?? []), ...entry.states]);
        }
      }
    }
    return merged;
  }

  #fits(target: string, data: readonly SaltValue[], pillar: SaltMap): boolean {
    const tgtType = matcherOf(data);
    const { id, grains } = this.#minion;
    const nodegroups = this.#options.nodegroups;
    if (tgtType === 'nodegroup') {
      return matchMinion(
        { tgt: `N@${target}`, tgtType: 'compound' },
        { id, grains, pillar, nodegroups },
      );
    }
    if (tgtType === 'pcre') confirmPattern(target);
    return matchMinion({ tgt: target, tgtType }, { id, grains, pillar, nodegroups });
  }
}

/** @throws RaisedError for a target that is no regular expression */
function confirmPattern(target: string): void {
  try {
    new PythonRegex(target, {}, Work.ofTarget(1));
  } catch (error) {
    if (error instanceof RegexError) throw new RaisedError('error', error.message);
    // One that takes too much work matches nothing.
    if (!(error instanceof WorkError)) throw error;
  }
}

/** Takes the names of what a top file includes out of it. @throws RaisedError */
function takeIncludes(top: SaltValue): SaltValue[] {
  if (isMap(top)) {
    if (!top.has('include')) return [];
    const include = walked(top.get('include') ?? null);
    top.delete('include');
    return include;
  }
  if (top instanceof Uint8Array) {
    throw new RaisedError('TypeError', "a bytes-like object is required, not 'str'");
  }
  if (Array.isArray(top)) {
    if (!top.includes('include')) return [];
    throw new RaisedError('TypeError', 'list indices must be integers or slices, not str');
  }
  if (typeof top === 'string') {
    if (!top.includes('include')) return [];
    throw new RaisedError('TypeError', "string indices must be integers, not 'str'");
  }
  throw new RaisedError('TypeError', `argument of type '${pythonType(top)}' is not iterable`);
}

/** The name of a file that a top file includes. @throws RenderError for what is no text */
function nameOf(sls: SaltValue): string {
  if (typeof sls === 'string') return sls;
  const type = pythonType(sls);
  if (Array.isArray(sls)) throw new RenderError('can only concatenate list (not "str") to list');
  if (isMap(sls)) throw new RenderError(`unsupported operand type(s) for +: '${type}' and 'str'`);
  throw new RenderError(`argument of type '${type}' is not iterable`);
}

/** The kind of a target: that of its last `match`. @throws RaisedError for one that is none */
function matcherOf(data: readonly SaltValue[]): string {
  let matcher: SaltValue = 'compound';
  for (const item of data) if (isMap(item)) matcher = item.get('match') ?? null;
  if (typeof matcher === 'string') {
    if (MATCHERS.includes(matcher)) return matcher;
    // The one of Salt's that asks a minion's own data, which a master has not.
    throw new RaisedError(
      'KeyError',
      matcher === 'data' ? "'data.getval'" : `'${matcher}_match.match'`,
    );
  }
  const text = Array.isArray(matcher)
    ? 'can only concatenate list (not "str") to list'
    : `unsupported operand type(s) for +: '${pythonType(matcher)}' and 'str'`;
  throw new RaisedError('TypeError', text);
}

/** The targets of an environment with their entries; undefined if they are invalid. */
function readTargets(targets: SaltValue): [SaltValue, Entry][] | undefined {
  if (!isMap(targets)) {
    const isEmpty = targets === '' || (Array.isArray(targets) && targets.length === 0);
    return isEmpty ? [] : undefined;
  }
  const entries: [SaltValue, Entry][] = [];
  for (const [target, list] of targets) {
    if (!Array.isArray(list) && !isMap(list) && typeof list !== 'string') return undefined;
    const entry = readTarget(walked(list));
    if (entry === undefined) return undefined;
    entries.push([target, entry]);
  }
  return entries;
}

function readTarget(list: readonly SaltValue[]): Entry | undefined {
  const states = [...new Set(list.filter((item): item is string => typeof item === 'string'))];
  const maps = list.filter(isMap);
  let order = 0;
  for (const map of maps) {
    if (!map.has('order')) continue;
    const given = orderOf(map.get('order') ?? null);
    if (given === undefined) return undefined;
    order = given;
  }
  const data: SaltValue[] = [...maps.filter((map) => map.has('match')), ...states];
  const mayMiss = maps.some((map) => truth(map.get('ignore_missing') ?? null));
  return { data, order, mayMiss, states };
}

/** As Python's `int`, 0 for a text that is no number; undefined for what cannot be one. */
function orderOf(given: SaltValue): number | undefined {
  if (typeof given === 'boolean') return Number(given);
  if (typeof given === 'string') {
    const digits = given.trim();
    return /^[+-]?\d+(?:_\d+)*$/.test(digits) ? Number(digits.replaceAll('_', '')) : 0;
  }
  const number = given instanceof SaltFloat ? given.value : given;
  if (typeof number === 'bigint') return Number(number);
  if (typeof number !== 'number') return undefined;
  if (Number.isNaN(number)) return 0;
  if (Number.isFinite(number)) return Math.trunc(number);
  throw new RaisedError('OverflowError', 'cannot convert float infinity to integer');
}
