import type { Plain } from './engine.ts';

/** The module that an engine runs. */
export type EngineModule =
  /** An engine of Brine. */
  | { readonly kind: 'builtin'; readonly name: BuiltinName }
  /** A module of the site, in JavaScript or TypeScript. */
  | { readonly kind: 'file'; readonly path: string }
  /** An engine of Salt, run by its Python interpreter. */
  | { readonly kind: 'python'; readonly name: string };

/** A configured engine. */
export interface EngineSpec {
  /** The name of its entry, with a number if several entries have the same name. */
  readonly name: string;
  readonly module: EngineModule;
  readonly options: { readonly [key: string]: Plain };
  /** Once in the cluster, or once on each host. */
  readonly where: 'cluster' | 'host';
}

/** An invalid entry of `engines:`. */
export interface EngineFault {
  readonly name: string;
  /** One line, without values. */
  readonly why: string;
}

/** Brine's engines with their options; those of Salt have Salt's names. */
export const BUILTIN_ENGINES = {
  webhook: ['address', 'port', 'ssl_crt', 'ssl_key'],
  http_logstash: ['url', 'funs', 'tags'],
  logstash: ['host', 'port', 'tag', 'proto', 'tags'],
  fluent: ['host', 'port', 'app', 'tags'],
  stalekey: ['interval', 'expire'],
  script: ['cmd', 'output', 'interval', 'onchange'],
  test: ['tags'],
  http: ['url', 'method', 'headers', 'body', 'tags', 'funs', 'verify_ssl', 'ca_bundle', 'timeout'],
  nats: ['servers', 'subject', 'tags', 'funs', 'user', 'password', 'token', 'ca_file', 'jetstream'],
  kafka: ['brokers', 'topic', 'tags', 'funs', 'client_id', 'sasl', 'tls'],
} as const;

/** The name of an engine of Brine. */
export type BuiltinName = keyof typeof BUILTIN_ENGINES;

/** Salt's engine that every process has: it needs no process of its own. */
const REACTOR = 'reactor';
const NO_THORIUM = 'Brine has no thorium; use the option reactor';

/** Engines that listen on a port of their host. */
const PER_HOST: ReadonlySet<string> = new Set<BuiltinName>(['webhook']);

/** Limit of engines of one master. */
const ENGINES_MAX = 32;

/** Brine's own option: `host` or `cluster`, for engines that listen on a port. */
const WHERE = 'brine_where';

export interface EngineListOptions {
  /** True if the site's Salt runs its own engines (`brine.python`). */
  readonly hasPython: boolean;
  /** True if this Node runs TypeScript directly. */
  readonly runsTypeScript: boolean;
}

/**
 * Reads `engines:` as Salt does (salt/engines/__init__.py start_engines): a list of names and of
 * maps with one entry, or one map. `engine_module` names the module if the entry has another name;
 * a path is a module of the site. The engine `reactor` is left out, because processes have it.
 */
export function readEngines(
  given: Plain,
  options: EngineListOptions,
): { readonly engines: readonly EngineSpec[]; readonly faults: readonly EngineFault[] } {
  const engines: EngineSpec[] = [];
  const faults: EngineFault[] = [];
  const names = new Set<string>();
  for (const [entry, config] of entriesOf(given)) {
    if (isReactor(entry, config)) continue;
    const name = free(entry, names);
    names.add(name);
    const made = specOf(name, entry, config, options);
    if (engines.length >= ENGINES_MAX) {
      faults.push({ name, why: `a master has at most ${ENGINES_MAX} engines` });
    } else if (typeof made === 'string') faults.push({ name, why: made });
    else engines.push(made);
  }
  return { engines, faults };
}

function entriesOf(given: Plain): readonly (readonly [name: string, config: Plain])[] {
  if (isList(given)) return given.flatMap(entryOf);
  return isObject(given) ? Object.entries(given) : [];
}

function isReactor(entry: string, config: Plain): boolean {
  return ((isObject(config) ? config['engine_module'] : undefined) ?? entry) === REACTOR;
}

function entryOf(entry: Plain): readonly (readonly [name: string, config: Plain])[] {
  if (typeof entry === 'string') return [[entry, null]];
  // Salt starts the first entry of a map with several.
  return isObject(entry) ? Object.entries(entry).slice(0, 1) : [['no name', 'no map']];
}

/** Entries of one name run concurrently, as in Salt. */
function free(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  for (let number = 2; ; number += 1) {
    const next = `${name}-${number}`;
    if (!taken.has(next)) return next;
  }
}

function specOf(
  name: string,
  entry: string,
  config: Plain,
  options: EngineListOptions,
): EngineSpec | string {
  if (!/^[\w.-]{1,64}$/.test(name)) return 'a name has letters, digits, dot, dash and underscore';
  if (config !== null && !isObject(config)) return 'its options must be a map';
  const given: { readonly [key: string]: Plain } = config ?? {};
  const { engine_module: moduleName = entry, [WHERE]: where, ...rest } = given;
  if (typeof moduleName !== 'string' || moduleName === '') return 'engine_module must be a text';
  if (where !== undefined && where !== 'host' && where !== 'cluster') {
    return `${WHERE} must be host or cluster`;
  }
  const module = moduleOf(moduleName, options);
  if (typeof module === 'string') return module;
  if (module.kind === 'builtin') {
    const known: readonly string[] = BUILTIN_ENGINES[module.name];
    const odd = Object.keys(rest).filter((key) => !known.includes(key));
    if (odd.length > 0)
      return `it has no option ${odd.join(', ')}; its options: ${known.join(', ')}`;
  }
  const preset = PER_HOST.has(moduleName) ? 'host' : 'cluster';
  return { name, module, options: rest, where: where ?? preset };
}

function moduleOf(name: string, options: EngineListOptions): EngineModule | string {
  if (isPath(name)) return fileOf(name, options);
  if (name === 'thorium') return NO_THORIUM;
  if (isBuiltin(name)) return { kind: 'builtin', name };
  if (!/^\w+$/.test(name)) return 'it is no name of a module, and no path';
  if (options.hasPython) return { kind: 'python', name };
  return 'Brine has no such engine; brine.python runs engines of Salt, a path those of the site';
}

function fileOf(path: string, { runsTypeScript }: EngineListOptions): EngineModule | string {
  if (!path.startsWith('/')) return 'the path of its module must be absolute';
  if (!/\.(?:[cm]?js|[cm]?ts)$/.test(path)) return 'its module must end in .js, .mjs, .ts or .mts';
  if (/ts$/.test(path) && !runsTypeScript) {
    return 'a module in TypeScript needs Node 22.18 or newer; give it as JavaScript';
  }
  return { kind: 'file', path };
}

/** True if a name is a file. */
function isPath(name: string): boolean {
  return name.includes('/') || /\.[cm]?[jt]s$/.test(name);
}

function isBuiltin(name: string): name is BuiltinName {
  return Object.hasOwn(BUILTIN_ENGINES, name);
}

/** True for a list. */
export function isList(value: Plain | undefined): value is readonly Plain[] {
  return Array.isArray(value);
}

/** True for a map. */
export function isObject(value: Plain | undefined): value is { readonly [key: string]: Plain } {
  return typeof value === 'object' && value !== null && !isList(value);
}
