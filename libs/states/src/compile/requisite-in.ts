import { isMap, type SaltMap, type SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import { copyOf, firstKey, type HighData, modulesOf, textAt } from '../values.ts';
import { reconcileExtend } from './extend.ts';
import { argumentsAt, findName, findSlsIds, type Place } from './find.ts';
import { NOT_USED, REQUISITE_IN } from './requisites.ts';

/**
 * Moves `require_in` and its kin into the states that they name, and resolves `use` (Salt:
 * State.requisite_in). Returns their errors.
 */
export function requisiteIn(high: HighData, disabled: ReadonlySet<string>): string[] {
  const moving = new Moving(high);
  for (const [id, body] of high) {
    if (!isMap(body)) continue;
    for (const module of modulesOf(body)) {
      const run = body.get(module);
      for (const arg of Array.isArray(run) ? run : []) {
        const key = isMap(arg) ? firstKey(arg) : undefined;
        if (key === undefined || !REQUISITE_IN.has(key) || disabled.has(key)) continue;
        moving.take({ id, module, body, key }, (arg as SaltMap).get(key) ?? null);
      }
    }
  }
  high.set(
    '__extend__',
    [...moving.extend].map(([name, body]) => new Map([[name, body]])),
  );
  return [...moving.errors, ...reconcileExtend(high, true)];
}

/** The state that contains a requisite. */
interface Holder {
  readonly id: SaltValue;
  readonly module: string;
  readonly body: SaltMap;
  /** `require_in`, `use`, … */
  readonly key: string;
}

class Moving {
  readonly extend = new Map<SaltValue, SaltMap>();
  readonly errors: string[] = [];
  readonly #high: HighData;

  constructor(high: HighData) {
    this.#high = high;
  }

  take(holder: Holder, items: SaltValue): void {
    if (isMap(items)) {
      for (const [module, name] of items) this.#single(holder, pyStr(module), name);
    }
    if (!Array.isArray(items)) return;
    let places: Place[] = [];
    for (const item of items) {
      const requisite = isMap(item) ? item : this.#resolved(item);
      if (requisite === undefined || requisite.size === 0) continue;
      const module = firstKey(requisite) ?? '';
      const [name = null] = requisite.values();
      if (module === 'sls') places = findSlsIds(name, this.#high);
      // Like Salt, the places of earlier items are visited again, which changes nothing.
      else places.push([name, module]);
      if (module.includes('.')) this.#dotted(holder, module, name, 'list');
      for (const place of places) this.#place(holder, place);
    }
  }

  #place(holder: Holder, [name, module]: Place): void {
    if (holder.key === 'use_in') this.#use(findName(name, module, this.#high, true), holder, true);
    else if (holder.key === 'use') {
      this.#use(findName(name, module, this.#high, true), holder, false);
    } else this.#add(holder, name, module);
  }

  #single(holder: Holder, asked: string, name: SaltValue): void {
    let module = asked;
    if (module.includes('.')) {
      this.#dotted(holder, module, name, 'single');
      module = module.slice(0, module.indexOf('.'));
    }
    this.#add(holder, name, module);
  }

  /** The state of an id, or the last one of a name, from a requisite without a module. */
  #resolved(item: SaltValue): SaltMap | undefined {
    const body = this.#high.get(item);
    const [module] = isMap(body) ? modulesOf(body) : [];
    if (module !== undefined) return new Map([[module, item]]);
    let found: SaltMap | undefined;
    for (const [id, other] of this.#high) {
      if (!isMap(other)) continue;
      for (const name of modulesOf(other)) {
        const run = other.get(name);
        const named = (Array.isArray(run) ? run : []).some(
          (arg) => isMap(arg) && arg.has('name') && arg.get('name') === item,
        );
        if (named) found = new Map([[name, id]]);
      }
    }
    return found;
  }

  #dotted(holder: Holder, module: string, name: SaltValue, form: 'single' | 'list'): void {
    const kind = holder.key.split('_')[0] ?? '';
    const sls = textAt(holder.body, '__sls__');
    const place = form === 'single' ? `${pyStr(name)} in` : `${pyStr(name)}, in`;
    this.errors.push(
      `Invalid requisite in ${kind}: ${module} for ${place} SLS '${sls}'. Requisites must not ` +
        `contain dots, did you mean '${module.slice(0, module.indexOf('.'))}'?`,
    );
  }

  #bodyOf(name: SaltValue, module: string): SaltValue[] {
    const body = this.extend.get(name) ?? new Map<SaltValue, SaltValue>();
    this.extend.set(name, body);
    const run = body.get(module);
    if (Array.isArray(run)) return run;
    const made: SaltValue[] = [];
    body.set(module, made);
    return made;
  }

  #add({ id, module: own, body, key }: Holder, name: SaltValue, module: string): void {
    const run = this.#bodyOf(name, module);
    const target = this.extend.get(name);
    for (const field of ['__env__', '__sls__']) {
      const value = body.get(field);
      if (value !== undefined) target?.set(field, value);
    }
    const kind = key.split('_')[0] ?? '';
    const requisite = new Map([[own, id]]);
    const known = run.filter((arg) => isMap(arg) && firstKey(arg) === kind);
    for (const arg of known) {
      const list = (arg as SaltMap).get(kind);
      if (Array.isArray(list)) list.push(requisite);
    }
    if (known.length === 0) run.push(new Map([[kind, [requisite]]]));
  }

  /** Gives the arguments of one state to another, except those that it has itself. */
  #use(places: readonly Place[], holder: Holder, outward: boolean): void {
    for (const [id, module] of places) {
      const own: Place = [holder.id, holder.module];
      const other: Place = [id, module];
      const [from, to] = outward ? [own, other] : [other, own];
      const ignored = argumentsAt(to[0], to[1], this.#high);
      const run = this.#bodyOf(to[0], to[1]);
      const source = this.#high.get(from[0]);
      const args = isMap(source) ? source.get(from[1]) : undefined;
      for (const arg of Array.isArray(args) ? args : []) {
        if (!isMap(arg) || arg.size !== 1) continue;
        const key = firstKey(arg) ?? '';
        if (NOT_USED.has(key) || ignored.has(key) || key === 'name' || key === 'names') continue;
        run.push(copyOf(arg));
      }
    }
  }
}
