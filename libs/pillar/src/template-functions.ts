import {
  bind,
  equal,
  isDict,
  isList,
  JinjaError,
  NamedDict,
  PyFunction,
  PyObject,
  repr,
  str,
  traverseData,
  truth,
  typeName,
} from '@brine/jinja';
import { matchGlob } from '@brine/target';
import type { SaltMap, SaltValue } from '@brine/wire';
import { compareText } from '@brine/wire/text';
import { mergePillars } from './merge.ts';
import { NOT_A_MAP } from './raised.ts';

type Call = (args: Map<string, unknown>) => unknown;

/** The input of functions that need only the minion's data. */
export interface FunctionData {
  readonly grains: SaltMap;
  /** The pillar as far as it is known. */
  readonly pillar: SaltMap;
  readonly opts: SaltMap;
}

/** Functions that are not among those of Brine. */
export interface FurtherFunctions {
  /** The function `module.name`; undefined where there is none. */
  find(name: string): PyFunction | undefined;
  /** Any name may be that of a module. */
  readonly anyModule: boolean;
}

const NONE: FurtherFunctions = { find: () => undefined, anyModule: false };

/**
 * Salt's functions for templates on the master, under their names and below their modules, so
 * that `salt['grains.get']` and `salt.grains.get` both work. `more` are those of the host. Further
 * functions are looked for when a template names them.
 */
export function templateFunctions(
  data: FunctionData,
  more: ReadonlyMap<string, PyFunction>,
  further: FurtherFunctions = NONE,
): Map<string, unknown> {
  const moduleOf = (module: string): PyObject => {
    const functions = new FoundFunctions((name) => further.find(`${module}.${name}`));
    return new PyObject('module', functions, () => module);
  };
  const context = new FoundFunctions((name) =>
    further.anyModule && /^\w+$/.test(name) ? moduleOf(name) : further.find(name),
  );
  for (const [name, fun] of [...own(data), ...more]) {
    const [module = '', method = ''] = name.split('.');
    context.set(name, fun);
    const known = context.get(module);
    const object = known instanceof PyObject ? known : moduleOf(module);
    object.attributes.set(method, fun);
    context.set(module, object);
  }
  return context;
}

/** Names with what they stand for; a name that is not there is looked for once. */
class FoundFunctions extends NamedDict {
  readonly #find: (name: string) => unknown;
  readonly #asked = new Set<unknown>();

  constructor(find: (name: string) => unknown) {
    super('salt.utils.templates.AliasedLoader');
    this.#find = find;
  }

  override get(name: string): unknown {
    const known = super.get(name);
    if (known !== undefined || typeof name !== 'string' || this.#asked.has(name)) return known;
    this.#asked.add(name);
    const found = this.#find(name);
    if (found !== undefined) this.set(name, found);
    return found;
  }

  /** As Python's `in`: of what has to be looked for, only functions. */
  override has(name: string): boolean {
    if (super.has(name)) return true;
    return typeof name === 'string' && name.includes('.') && this.get(name) !== undefined;
  }
}

function own({ grains, pillar, opts }: FunctionData): Map<string, PyFunction> {
  const get = (
    fun: string,
    sources: readonly SaltMap[],
    [names, defaults]: readonly [readonly string[], Readonly<Record<string, unknown>>],
  ): PyFunction =>
    made(fun, names, { default: '', delimiter: ':', ...defaults }, (args) => {
      const whole = fun === 'pillar.get' ? overDefault(args, pillar, opts) : undefined;
      return whole ?? foundIn(sources, args, args.get('default'));
    });
  return new Map(
    [
      get('grains.get', [grains], GRAINS_GET),
      get('pillar.get', [pillar], PILLAR_GET),
      get('config.get', [opts, grains, pillar], CONFIG_GET),
      get('config.option', [opts, grains, pillar], CONFIG_GET),
      made('grains.items', [], {}, () => grains),
      made('pillar.items', [], {}, () => pillar),
      made('test.ping', [], {}, () => true),
      made('test.true', [], {}, () => true),
      made('test.false', [], {}, () => false),
      made('test.echo', ['text'], {}, (args) => args.get('text')),
      items('grains.item', grains),
      items('pillar.item', pillar),
      made('grains.has_value', ['key'], {}, (args) => {
        const whole = new Map([...args, ['delimiter', ':']]);
        return foundIn([grains], whole) !== undefined;
      }),
      made('grains.ls', [], {}, () =>
        [...grains.keys()].map((name) => str(name)).sort(compareText),
      ),
      made('pillar.ls', [], {}, () => [...pillar.keys()]),
      made('pillar.keys', ['key', 'delimiter', 'unmask'], KEYS_DEFAULTS, (args) =>
        keysBelow(pillar, args),
      ),
      made('pillar.raw', ['key', 'unmask'], { key: null, unmask: null }, (args) => {
        const key = args.get('key');
        return truth(key) ? (pillar.get(key as SaltValue) ?? new Map()) : new Map(pillar);
      }),
      made(
        'pillar.filter_by',
        ['lookup_dict', 'pillar', ...FILTER_BY.slice(2)],
        FILTER_DEFAULTS,
        (args) => filterBy(args, pillar, args.get('pillar')),
      ),
      made('grains.filter_by', FILTER_BY, FILTER_DEFAULTS, (args) =>
        filterBy(args, grains, args.get('grain')),
      ),
      made('slsutil.merge', MERGE, MERGE_DEFAULTS, (args) => merged(args)),
      made('slsutil.update', UPDATE, UPDATE_DEFAULTS, (args) =>
        updatedDict(args.get('dest'), args.get('upd'), {
          recursive: truth(args.get('recursive_update')),
          lists: truth(args.get('merge_lists')),
        }),
      ),
      made('defaults.merge', DEFAULTS_MERGE, DEFAULTS_MERGE_DEFAULTS, mergedDefaults),
    ].map((fun) => [fun.name, fun]),
  );
}

/** What each `get` takes, in Salt's order: names, and what some are where they are not given. */
const GRAINS_GET = [['key', 'default', 'delimiter', 'ordered'], { ordered: true }] as const;
const PILLAR_GET = [
  ['key', 'default', 'merge', 'merge_nested_lists', 'delimiter', 'pillarenv', 'saltenv', 'unmask'],
  { merge: false, merge_nested_lists: null, pillarenv: null, saltenv: null, unmask: null },
] as const;
const OMITTED = ['omit_opts', 'omit_pillar', 'omit_master', 'omit_grains'] as const;
const CONFIG_GET = [
  ['key', 'default', 'delimiter', 'merge', ...OMITTED],
  { merge: null, ...Object.fromEntries(OMITTED.map((name) => [name, false])) },
] as const;
const FILTER_BY = ['lookup_dict', 'grain', 'merge', 'default', 'base'];
const FILTER_DEFAULTS = { grain: 'os_family', merge: null, default: 'default', base: null };
const MERGE = ['obj_a', 'obj_b', 'strategy', 'renderer', 'merge_lists'];
const MERGE_DEFAULTS = { strategy: 'smart', renderer: 'yaml', merge_lists: false };
const UPDATE = ['dest', 'upd', 'recursive_update', 'merge_lists'];
const UPDATE_DEFAULTS = { recursive_update: true, merge_lists: false };
const KEYS_DEFAULTS = { delimiter: ':', unmask: null };
const DEFAULTS_MERGE = ['dest', 'src', 'merge_lists', 'in_place', 'convert_none'];
const DEFAULTS_MERGE_DEFAULTS = { merge_lists: false, in_place: true, convert_none: true };

/** A function that shows the values of several keys. */
function items(name: string, source: SaltMap): PyFunction {
  return new PyFunction(name, ({ positional, named }) => {
    const otherwise = named.get('default') ?? '';
    const delimiter = str(named.get('delimiter') ?? ':');
    return new Map(positional.map((key) => [key, traverseData(source, key, otherwise, delimiter)]));
  });
}

/** @throws JinjaError for a key that is not there, or has no keys below it */
function keysBelow(pillar: SaltMap, args: ReadonlyMap<string, unknown>): unknown[] {
  const key = str(args.get('key'));
  const found = foundIn([pillar], args);
  if (found === undefined) throw new JinjaError('KeyError', repr(`Pillar key not found: ${key}`));
  if (isDict(found)) return [...found.keys()];
  throw new JinjaError('ValueError', `Pillar value in key ${key} is not a dict`);
}

function foundIn(
  sources: readonly SaltMap[],
  args: ReadonlyMap<string, unknown>,
  otherwise?: unknown,
): unknown {
  for (const source of sources) {
    const found = traverseData(source, args.get('key'), undefined, str(args.get('delimiter')));
    if (found !== undefined) return found;
  }
  return otherwise;
}

/** What `merge` makes of the default and the pillar; undefined where it makes nothing of them. */
function overDefault(
  args: ReadonlyMap<string, unknown>,
  pillar: SaltMap,
  opts: SaltMap,
): SaltMap | unknown[] | undefined {
  if (!truth(args.get('merge'))) return undefined;
  const standard = args.get('default');
  if (isDict(standard)) {
    const found = foundIn([pillar], args, new Map());
    if (!isDict(found)) return undefined;
    const lists = truth(args.get('merge_nested_lists') ?? opts.get('pillar_merge_lists') ?? false);
    return mergePillars(standard as SaltMap, found as SaltMap, 'recurse', 'yaml', lists);
  }
  if (!isList(standard)) return undefined;
  const found = foundIn([pillar], args, []);
  if (!isList(found)) return undefined;
  return [...standard, ...found.filter((item) => !standard.some((known) => equal(known, item)))];
}

function made(
  name: string,
  names: readonly string[],
  defaults: Readonly<Record<string, unknown>>,
  call: Call,
): PyFunction {
  // Python's errors name the function without its module.
  const own = name.slice(name.indexOf('.') + 1);
  return new PyFunction(name, (args) => call(bind(own, names, args, defaults)));
}

function merged(args: ReadonlyMap<string, unknown>): unknown {
  const [a, b] = [args.get('obj_a'), args.get('obj_b')];
  if (!isDict(a) || !isDict(b)) throw new JinjaError('TypeError', NOT_A_MAP);
  const [strategy, renderer] = [str(args.get('strategy')), str(args.get('renderer'))];
  const lists = truth(args.get('merge_lists'));
  return mergePillars(a as SaltMap, b as SaltMap, strategy, renderer, lists);
}

/** Salt's dictupdate.update: the first map itself gets what the second has. */
function updatedDict(
  dest: unknown,
  upd: unknown,
  { recursive, lists }: { readonly recursive: boolean; readonly lists: boolean },
): unknown {
  if (!isDict(dest) || !isDict(upd)) throw new JinjaError('TypeError', NOT_A_MAP);
  const strategy = recursive ? 'recurse' : 'overwrite';
  const whole = mergePillars(dest as SaltMap, upd as SaltMap, strategy, 'yaml', lists);
  for (const [key, value] of whole) dest.set(key, value);
  return dest;
}

/** Salt: salt/modules/defaults.py merge. */
function mergedDefaults(args: ReadonlyMap<string, unknown>): unknown {
  const converts = truth(args.get('convert_none'));
  const inPlace = truth(args.get('in_place'));
  const given = (name: string): unknown => {
    const value = args.get(name);
    return value === null && converts ? new Map() : value;
  };
  if (args.get('dest') === null && converts && inPlace) {
    throw new JinjaError('TypeError', "Can't perform in-place merge into NoneType");
  }
  const dest = given('dest');
  const own = inPlace || !isDict(dest) ? dest : new Map(dest);
  return updatedDict(own, given('src'), { recursive: true, lists: truth(args.get('merge_lists')) });
}

/** Salt: salt/utils/data.py filter_by. */
function filterBy(args: ReadonlyMap<string, unknown>, data: SaltMap, key: unknown): unknown {
  const lookup = args.get('lookup_dict');
  if (!isDict(lookup)) {
    const text = `'${typeName(lookup)}' object has no attribute 'get'`;
    throw new JinjaError('AttributeError', text);
  }
  const value = traverseData(data, key, [], ':');
  let found: unknown = null;
  for (const each of isList(value) ? value : [value]) {
    const key = [...lookup.keys()].find((name) => matchGlob(str(name), str(each)));
    found = key === undefined ? null : lookup.get(key);
    if (found !== null) break;
  }
  found ??= lookup.get(args.get('default')) ?? null;
  const base = args.get('base');
  const under = base === null || !truth(base) ? undefined : lookup.get(base);
  if (under !== undefined) {
    if (found === null) found = under;
    else if (isDict(under)) {
      if (!isDict(found)) throw new JinjaError('SaltException', NO_MAPS_TO_FILTER);
      found = over(under, found);
    }
  }
  const more = args.get('merge');
  if (more === null || !truth(more)) return found;
  if (!isDict(more)) {
    throw new JinjaError('SaltException', 'filter_by merge argument must be a dictionary.');
  }
  return found === null ? more : over(found, more);
}

const NO_MAPS_TO_FILTER = 'filter_by default and look-up values must both be dictionaries.';

function over(first: unknown, other: unknown): unknown {
  return merged(new Map<string, unknown>([['obj_a', first], ['obj_b', other], ...MERGE_MAP]));
}

const MERGE_MAP: readonly (readonly [string, unknown])[] = Object.entries(MERGE_DEFAULTS);
