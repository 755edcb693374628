import { truth } from '@brine/jinja';
import { matchGlob } from '@brine/target';
import { isMap, mapOf, type SaltMap, type SaltValue } from '@brine/wire';
import { decryptKeys } from './decrypt.ts';
import { mergePillars } from './merge.ts';
import { withExternals } from './merge-externals.ts';
import type { PillarMinion, PillarOptions, PillarPorts } from './ports.ts';
import { NOT_A_MAP, pythonType, RaisedError } from './raised.ts';
import { minionOpts, RenderError, SlsRenderer } from './render-sls.ts';
import { findSls, slsNames } from './sls-names.ts';
import { TopFiles, type TopMatches } from './top.ts';

const MAX_INCLUDES = 100;

/** What `defaults` are given to as keywords, and those of its own that they cannot have. */
const CALLED = 'compile_template()';
const TAKEN = ['template', 'renderers', 'default', 'blacklist', 'whitelist', 'saltenv', 'sls'];

/**
 * The pillar of one minion, errors under `_errors` (Salt: salt/pillar/__init__.py compile_pillar).
 * Never throws for the content of the master's files.
 */
export function compilePillar(
  ports: PillarPorts,
  options: PillarOptions,
  asked: PillarMinion,
): SaltMap {
  const own = asked.pillarenv ?? (options.pillarenvFromSaltenv ? asked.saltenv : null);
  const named = own ?? options.pillarenv;
  // An empty name names none, in Salt too.
  const minion = { ...asked, pillarenv: named === '' ? null : named };
  return new PillarCompiler(ports, options, minion).compile();
}

/**
 * The top files as one: targets with their files by environment, or what is wrong with them (Salt:
 * Pillar.get_top).
 */
export function pillarTop(
  ports: PillarPorts,
  options: PillarOptions,
  minion: PillarMinion,
): SaltValue {
  const renderer = new SlsRenderer(ports, options, minion);
  const top = new TopFiles(ports, options, minion, renderer);
  const merged = top.shown(top.read());
  return top.errors.length > 0 ? top.errors : merged;
}

interface Rendered {
  readonly state: SaltValue;
  readonly done: Map<string, SaltValue>;
}

class PillarCompiler {
  readonly #ports: PillarPorts;
  readonly #options: PillarOptions;
  readonly #minion: PillarMinion;
  readonly #renderer: SlsRenderer;
  readonly #errors: string[] = [];
  readonly #names = new Map<string, string[]>();

  constructor(ports: PillarPorts, options: PillarOptions, minion: PillarMinion) {
    this.#ports = ports;
    this.#options = options;
    this.#minion = minion;
    this.#renderer = new SlsRenderer(ports, options, minion);
  }

  compile(): SaltMap {
    const top = new TopFiles(this.#ports, this.#options, this.#minion, this.#renderer);
    const tops = top.read();
    let pillar: SaltMap;
    if (this.#options.extPillarFirst) {
      const before = this.#external(new Map(this.#minion.override));
      this.#renderer.pillar = before;
      pillar = this.#merge(before, this.#states(top.match(tops, before)));
    } else {
      const states = this.#states(top.match(tops, new Map()));
      // A malformed option breaks the external pillars only.
      pillar = new Map([...states, ...this.#external(states)]);
    }
    this.#errors.push(...top.errors);
    if (this.#options.pillarOpts) {
      const { saltVersion } = this.#options;
      const opts = minionOpts(this.#options.opts, this.#minion);
      pillar.set('master', opts.set('saltversion', saltVersion));
    }
    // Before the override: Salt decrypts after it, and a minion could have any message decrypted.
    this.#errors.push(...decryptKeys(pillar, this.#options, this.#ports, this.#renderer.sent));
    if (this.#errors.length > 0) pillar.set('_errors', this.#errors);
    if (this.#minion.override.size > 0) pillar = this.#merge(pillar, this.#minion.override);
    return pillar;
  }

  #external(start: SaltMap): SaltMap {
    return withExternals(
      {
        ports: this.#ports,
        options: this.#options,
        minion: this.#minion,
        merge: (first, other) => this.#merge(first, other),
        errors: this.#errors,
        sent: this.#renderer.sent,
      },
      start,
    );
  }

  #merge(first: SaltMap, other: SaltMap): SaltMap {
    const { mergingStrategy, renderer, mergeLists } = this.#options;
    return mergePillars(first, other, mergingStrategy, renderer, mergeLists);
  }

  #available(saltenv: string): string[] | undefined {
    const { environments } = this.#ports.files;
    if (saltenv !== 'base' && !environments.includes(saltenv)) return undefined;
    let names = this.#names.get(saltenv);
    names ??= slsNames(this.#ports.files, saltenv);
    this.#names.set(saltenv, names);
    return names;
  }

  #states({ matches, mayMiss }: TopMatches): SaltMap {
    let pillar: SaltMap = new Map(this.#minion.override);
    const first = this.#options.envOrder.filter((env) => matches.has(env));
    const order = [...new Set([...first, ...matches.keys()])];
    for (const saltenv of order) {
      const done = new Map<string, SaltValue>();
      for (const sls of this.#expanded(saltenv, matches.get(saltenv) ?? [])) {
        const { state } = this.#sls(sls, saltenv, done, new Map(), mayMiss, 0);
        if (isMap(state)) pillar = this.#merge(pillar, state);
      }
    }
    return pillar;
  }

  #expanded(saltenv: string, patterns: readonly string[]): string[] {
    return patterns.flatMap((pattern) => {
      const names = this.#available(saltenv);
      if (names === undefined) this.#noEnvironment(saltenv);
      const found = names?.filter((name) => matchGlob(pattern, name)) ?? [];
      return found.length > 0 ? found : [pattern];
    });
  }

  #noEnvironment(saltenv: string): void {
    this.#errors.push(`No matching pillar environment for environment '${saltenv}' found`);
  }

  #sls(
    sls: string,
    saltenv: string,
    done: Map<string, SaltValue>,
    defaults: SaltValue,
    mayMiss: TopMatches['mayMiss'],
    depth: number,
  ): Rendered {
    const path = findSls(this.#ports.files, saltenv, sls);
    if (path === undefined) {
      if (mayMiss.get(saltenv)?.includes(sls) === true) return { state: null, done };
      if (!this.#ports.files.environments.includes(saltenv)) return { state: null, done };
      this.#errors.push(
        `Specified SLS '${sls}' in environment '${saltenv}' is not available on the salt master`,
      );
      done.set(sls, null);
      return { state: null, done };
    }
    const state = this.#render(sls, saltenv, path, defaults);
    done.set(sls, state);
    if (isEmpty(state)) return { state, done };
    if (!isMap(state)) {
      this.#errors.push(`SLS '${sls}' does not render to a dictionary`);
      return { state, done };
    }
    const include = state.get('include');
    if (include === undefined) return { state, done };
    if (!Array.isArray(include)) {
      this.#errors.push(`Include Declaration in SLS '${sls}' is not formed as a list`);
      return { state, done };
    }
    if (depth > MAX_INCLUDES) throw new RangeError('pillar includes nest too deeply');
    state.delete('include');
    const context = { sls, saltenv, path, done, mayMiss, depth, defaults };
    return { state: this.#included(state, include, context), done };
  }

  #render(sls: string, saltenv: string, path: string, given: SaltValue): SaltValue {
    try {
      return this.#renderer.render({ saltenv, path, sls, defaults: defaultsOf(given) });
    } catch (error) {
      if (!(error instanceof RenderError)) throw error;
      const text = `Rendering SLS '${sls}' failed, render error:\n${error.message}`;
      this.#ports.log('critical', text);
      this.#errors.push(
        this.#options.safeRenderError
          ? `Rendering SLS '${sls}' failed. Please see master log for details.`
          : text,
      );
      return null;
    }
  }

  #included(state: SaltMap, include: readonly SaltValue[], context: Including): SaltMap {
    const parts: SaltMap[] = [];
    let whole = state;
    let { defaults } = context;
    let last: string[] = [];
    const depth = context.depth + 1;
    for (const item of include) {
      const { named, key, ...own } = readInclude(item);
      if (own.defaults !== undefined) ({ defaults } = own);
      for (const name of this.#includedNames(named, context)) {
        const before = this.#errors.length;
        const known = context.done.get(name);
        const found =
          known !== undefined
            ? known
            : this.#sls(name, context.saltenv, context.done, defaults, context.mayMiss, depth)
                .state;
        // As in Salt, a name that two patterns match appears twice, and so do its errors.
        if (known === undefined) last = this.#errors.slice(before);
        else this.#errors.push(...last);
        if (isEmpty(found)) continue;
        const part = isEmpty(key) ? found : under(key, found);
        if (!isMap(part)) throw new RaisedError('TypeError', NOT_A_MAP);
        if (this.#options.includesOverrideSls) whole = this.#merge(whole, part);
        else parts.push(part);
      }
    }
    if (this.#options.includesOverrideSls) return whole;
    const [first, ...rest] = [...parts, state];
    return rest.reduce((merged, part) => this.#merge(merged, part), first ?? state);
  }

  #includedNames(named: string, { sls, saltenv, path }: Including): string[] {
    const names = this.#available(saltenv);
    if (names === undefined) {
      this.#noEnvironment(saltenv);
      return [named];
    }
    const plain = named.replace(/^\.+/, '').replaceAll('/', '.');
    const found = names.filter((name) => matchGlob(plain, name));
    let full = named;
    if (named.startsWith('.')) {
      const parts = sls.split('.');
      const base = path.endsWith('/init.sls') ? parts : parts.slice(0, -1);
      full = [...base, named.slice(1)].join('.');
    }
    found.push(...names.filter((name) => matchGlob(full, name)));
    return found.length > 0 ? found : [full];
  }
}

interface Including {
  readonly sls: string;
  readonly saltenv: string;
  readonly path: string;
  readonly done: Map<string, SaltValue>;
  readonly mayMiss: TopMatches['mayMiss'];
  readonly depth: number;
  readonly defaults: SaltValue;
}

/** An item of `include`: a name, or a map from a name to `defaults` and `key`. */
interface Included {
  readonly named: string;
  /** Undefined for a name alone: the defaults of the item before it continue, as in Salt. */
  readonly defaults: SaltValue | undefined;
  readonly key: SaltValue;
}

/** @throws RaisedError for an item that Salt fails at */
function readInclude(item: SaltValue): Included {
  if (!isMap(item)) return { named: includedName(item), defaults: undefined, key: null };
  const [first] = item;
  if (first === undefined) throw new RaisedError('StopIteration', '');
  const [name, details] = first;
  if (!isMap(details)) throw lacking(details, 'get');
  const defaults = details.get('defaults');
  const key = details.get('key') ?? null;
  return {
    named: includedName(name),
    defaults: defaults === undefined ? mapOf({}) : defaults,
    key,
  };
}

function includedName(name: SaltValue): string {
  if (typeof name === 'string') return name;
  throw lacking(name, 'lstrip');
}

function lacking(value: SaltValue, attribute: string): RaisedError {
  const text = `'${pythonType(value)}' object has no attribute '${attribute}'`;
  return new RaisedError('AttributeError', text);
}

/** `a:b` puts a part under `a`, then `b`. @throws RaisedError for a key that is no text */
function under(key: SaltValue, part: SaltValue): SaltValue {
  if (typeof key !== 'string') throw lacking(key, 'split');
  return key.split(':').reduceRight<SaltValue>((inner, name) => mapOf({ [name]: inner }), part);
}

/** Names for a template: they reach Salt's renderer as keywords. @throws RenderError */
function defaultsOf(given: SaltValue): SaltMap {
  if (given === null) return new Map();
  if (!isMap(given)) {
    const text = `argument after ** must be a mapping, not ${pythonType(given)}`;
    throw new RenderError(`salt.template.${CALLED} ${text}`);
  }
  for (const name of given.keys()) {
    if (typeof name !== 'string') throw new RenderError('keywords must be strings');
    if (name === '_pillar_rend') {
      throw new RenderError(
        `salt.template.${CALLED} got multiple values for keyword argument '${name}'`,
      );
    }
    if (TAKEN.includes(name)) {
      throw new RenderError(`${CALLED} got multiple values for argument '${name}'`);
    }
  }
  return given;
}

/** What Python takes for false. */
function isEmpty(value: SaltValue): boolean {
  return !truth(value);
}
