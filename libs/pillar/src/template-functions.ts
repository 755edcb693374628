import {
  bind,
  isDict,
  isList,
  JinjaError,
  PyFunction,
  PyObject,
  str,
  traverseData,
} from '@brine/jinja';
import { matchGlob } from '@brine/target';
import type { SaltMap } from '@brine/wire';
import { mergePillars } from './merge.ts';

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
class FoundFunctions extends Map<string, unknown> {
  readonly #find: (name: string) => unknown;
  readonly #asked = new Set<unknown>();

  constructor(find: (name: string) => unknown) {
    super();
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
  const get = (fun: string, sources: readonly SaltMap[]): PyFunction =>
    made(fun, ['key', 'default', 'delimiter', 'merge'], GET_DEFAULTS, (args) => {
      for (const source of sources) {
        const found = traverseData(source, args.get('key'), undefined, str(args.get('delimiter')));
        if (found !== undefined) return found;
      }
      return args.get('default');
    });
  return new Map(
    [
      get('grains.get', [grains]),
      get('pillar.get', [pillar]),
      get('config.get', [opts, grains, pillar]),
      get('config.option', [opts, grains, pillar]),
      made('grains.items', [], {}, () => grains),
      made('pillar.items', [], {}, () => pillar),
      made('test.ping', [], {}, () => true),
      made('test.true', [], {}, () => true),
      made('test.false', [], {}, () => false),
      made('test.echo', ['text'], {}, (args) => args.get('text')),
      made('grains.item', ['key'], {}, (args) => {
        const found = traverseData(grains, args.get('key'), '', ':');
        return new Map([[args.get('key'), found]]);
      }),
      made('grains.filter_by', FILTER_BY, FILTER_DEFAULTS, (args) => filterBy(args, grains)),
      made('slsutil.merge', MERGE, MERGE_DEFAULTS, (args) => merged(args)),
      made('slsutil.update', ['dest', 'upd'], {}, (args) =>
        merged(
          new Map([...MERGE_DEFAULT_MAP, ['obj_a', args.get('dest')], ['obj_b', args.get('upd')]]),
        ),
      ),
      made('defaults.merge', ['dest', 'src'], {}, (args) =>
        merged(
          new Map([...MERGE_DEFAULT_MAP, ['obj_a', args.get('dest')], ['obj_b', args.get('src')]]),
        ),
      ),
    ].map((fun) => [fun.name, fun]),
  );
}

const GET_DEFAULTS = { default: '', delimiter: ':', merge: false };
const FILTER_BY = ['lookup_dict', 'grain', 'merge', 'default', 'base'];
const FILTER_DEFAULTS = { grain: 'os_family', merge: null, default: 'default', base: null };
const MERGE = ['obj_a', 'obj_b', 'strategy', 'renderer', 'merge_lists'];
const MERGE_DEFAULTS = { strategy: 'smart', renderer: 'yaml', merge_lists: false };
const MERGE_DEFAULT_MAP: readonly (readonly [string, unknown])[] = Object.entries(MERGE_DEFAULTS);

function made(
  name: string,
  names: readonly string[],
  defaults: Readonly<Record<string, unknown>>,
  call: Call,
): PyFunction {
  return new PyFunction(name, (args) => call(bind(name, names, args, defaults)));
}

function merged(args: ReadonlyMap<string, unknown>): unknown {
  const [a, b] = [args.get('obj_a'), args.get('obj_b')];
  if (!isDict(a) || !isDict(b)) {
    const text = 'Cannot update using non-dict types in dictupdate.update()';
    throw new JinjaError('SaltFunction', text);
  }
  const [strategy, renderer] = [str(args.get('strategy')), str(args.get('renderer'))];
  const lists = args.get('merge_lists') === true;
  return mergePillars(a as SaltMap, b as SaltMap, strategy, renderer, lists);
}

/** Salt: salt/utils/data.py filter_by. */
function filterBy(args: ReadonlyMap<string, unknown>, grains: SaltMap): unknown {
  const lookup = args.get('lookup_dict');
  if (!isDict(lookup)) throw new JinjaError('SaltFunction', 'filter_by needs a dict');
  const value = traverseData(grains, args.get('grain'), [], ':');
  let found: unknown;
  for (const each of isList(value) ? value : [value]) {
    const key = [...lookup.keys()].find((name) => matchGlob(str(name), str(each)));
    if (key === undefined) continue;
    found = lookup.get(key);
    break;
  }
  found ??= lookup.get(args.get('default')) ?? null;
  const base = args.get('base');
  const under = base === null ? undefined : lookup.get(base);
  if (isDict(under)) found = found === null ? under : over(under, found);
  const more = args.get('merge');
  return isDict(more) ? (found === null ? more : over(found, more)) : found;
}

function over(first: unknown, other: unknown): unknown {
  return merged(new Map([...MERGE_DEFAULT_MAP, ['obj_a', first], ['obj_b', other]]));
}
