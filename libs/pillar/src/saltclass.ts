import { isDict, iterate, renderTemplate, truth, typeName } from '@brine/jinja';
import { matchGlob } from '@brine/target';
import type { SaltMap, SaltValue } from '@brine/wire';
import { loadYaml, YamlWork } from '@brine/yaml';
import { type Dict, Expansion, mergeClass, SaltclassError } from './class-values.ts';
import type { PillarMinion, PillarOptions, PillarPorts } from './ports.ts';
import { pythonFunctions } from './python-functions.ts';
import { minionOpts } from './render-sls.ts';
import { templateFunctions } from './template-functions.ts';

/** Classes that one minion may have. */
const CLASSES_MAX = 2_000;

/** The files of a saltclass tree. */
export interface ClassFiles {
  /** Paths below `classes`, sorted. */
  readonly classes: readonly string[];
  /** Paths below `nodes`, sorted. */
  readonly nodes: readonly string[];
  /** The text of a file below the tree. */
  read(path: string): string | undefined;
}

/** What classes are rendered with. */
export interface ClassPorts extends Pick<PillarPorts, 'outside' | 'log' | 'python'> {
  readonly files: ClassFiles;
  readonly functions: ReturnType<PillarPorts['functions']>;
}

interface Node {
  /** Classes in their order, the node at the end. */
  readonly classes: ReadonlyMap<string, Dict>;
  readonly pillars: Dict;
  readonly states: readonly unknown[];
  readonly environment: unknown;
}

/**
 * `ext_pillar: saltclass` (salt/pillar/saltclass.py). Changes the given pillar, as in Salt:
 * templates of classes see in `__pillar__` the values of earlier classes.
 * @throws SaltclassError and what rendering throws
 */
export function saltclassPillar(
  ports: ClassPorts,
  options: Pick<PillarOptions, 'opts'>,
  minion: PillarMinion,
  pillar: SaltMap,
): SaltMap {
  const opts = minionOpts(options.opts, minion);
  const data = { grains: minion.grains, pillar, opts };
  const functions = templateFunctions(data, ports.functions, pythonFunctions(ports, pillar));
  const reading = new ClassReader(ports, minion, pillar, { __opts__: opts, __salt__: functions });
  const { classes, pillars, states, environment } = reading.node();
  const own = pillars.has('pillars') ? pillars.get('pillars') : new Map();
  if (!isDict(own)) {
    throw new SaltclassError(`'${typeName(own)}' object has no attribute 'copy'`);
  }
  const about = new Map<unknown, unknown>([
    ['states', states],
    ['classes', [...classes.keys()].slice(0, -1)],
    ['environment', environment],
    ['nodename', minion.id],
  ]);
  return new Map([['__saltclass__', about], ...new Expansion(own).pillar]) as SaltMap;
}

/**
 * `master_tops: saltclass` (salt/tops/saltclass.py): states by environment, which is an empty text
 * where no class names one.
 * @throws SaltclassError and what rendering throws
 */
export function saltclassTops(ports: ClassPorts, minion: PillarMinion): SaltMap {
  const given = { __opts__: minionOpts(new Map(), minion), __salt__: new Map() };
  const { states, environment } = new ClassReader(ports, minion, new Map(), given).node();
  return new Map([[environment as SaltValue, [...states] as SaltValue]]);
}

class ClassReader {
  readonly #ports: ClassPorts;
  readonly #minion: PillarMinion;
  readonly #pillar: Dict;
  readonly #names: Readonly<Record<string, unknown>>;
  readonly #seen = new Set<string>();

  constructor(
    ports: ClassPorts,
    minion: PillarMinion,
    pillar: Dict,
    names: Readonly<Record<string, unknown>>,
  ) {
    this.#ports = ports;
    this.#minion = minion;
    this.#pillar = pillar;
    this.#names = names;
  }

  /** Reads the minion's node and classes (salt/utils/saltclass.py expanded_dict_from_minion). */
  node(): Node {
    const { id } = this.#minion;
    const path = this.#ports.files.nodes.findLast((file) => file.split('/').at(-1) === `${id}.yml`);
    if (path === undefined) this.#ports.log('error', `saltclass: no node definition of ${id}`);
    const node: Dict =
      path === undefined ? new Map() : asClass(this.#render(`nodes/${path}`), false);
    const own = node.has('pillars') ? node.get('pillars') : new Map<unknown, unknown>();
    mergeClass(this.#pillar, structuredCopy(own));
    const classes = this.#inOrder(node.has('classes') ? node.get('classes') : []);
    if (node.size > 0) classes.set(id, node);
    const pillars: Dict = new Map();
    const states = new Set<unknown>();
    for (const one of classes.values()) {
      if (one.has('pillars')) mergeClass(pillars, one);
      for (const state of one.has('states') ? iterate(one.get('states')) : []) states.add(state);
    }
    let environment: unknown = '';
    for (const one of classes.values()) {
      if (one.has('environment')) environment = one.get('environment');
    }
    return { classes, pillars, states: [...states], environment };
  }

  /** Classes after the classes that they build on; each once. */
  #inOrder(asked: unknown): Map<string, Dict> {
    const found = new Map<string, Dict>();
    for (const name of this.#matching(asked)) {
      if (this.#seen.has(name)) continue;
      this.#seen.add(name);
      if (this.#seen.size > CLASSES_MAX) throw new SaltclassError('too many classes');
      const own = this.#classOf(name);
      const pillars = own.get('pillars');
      if (pillars !== undefined && truth(pillars)) mergeClass(this.#pillar, pillars);
      const below = own.has('classes') ? this.#inOrder(own.get('classes')) : [];
      for (const [key, value] of below) found.set(key, value);
      found.set(name, own);
    }
    return found;
  }

  /** Names of classes, with globs expanded; each once. */
  #matching(asked: unknown): Iterable<string> {
    const names = new Set<string>();
    for (const one of iterate(asked)) {
      if (typeof one !== 'string') {
        throw new SaltclassError(`'${typeName(one)}' object has no attribute 'replace'`);
      }
      const patterns = pathsOf(one);
      const order = [patterns.straight, patterns.below, patterns.init];
      const matches = order.flatMap((pattern) =>
        this.#ports.files.classes.filter((path) => matchPath(pattern, path)),
      );
      if (matches.length === 0) this.#ports.log('error', `saltclass: no class matches ${one}`);
      for (const path of matches) names.add(nameOf(path));
    }
    return names;
  }

  #classOf(name: string): Dict {
    const { straight, below, init } = pathsOf(name);
    const path = [straight, below, init].find((one) => this.#ports.files.classes.includes(one));
    return path === undefined ? new Map() : asClass(this.#render(`classes/${path}`), true);
  }

  /** A file's Jinja is that of jinja2 itself: a missing name prints nothing. */
  #render(path: string): SaltValue {
    const { files, outside } = this.#ports;
    const { id, grains } = this.#minion;
    const dir = path.slice(0, path.lastIndexOf('/'));
    const variables = new Map<string, unknown>([
      ...Object.entries(this.#names),
      ['__grains__', grains],
      ['__pillar__', this.#pillar],
      ['minion_id', id],
    ]);
    const load = (name: string): string | undefined => files.read(`${dir}/${name}`);
    const source = files.read(path) ?? '';
    const text = renderTemplate(source, {
      variables,
      outside: { ...outside, load },
      allowUndefined: true,
      takesFileOptions: false,
    });
    // The last line end, which Salt's own renderer keeps.
    return loadYaml(source.endsWith('\n') ? text.slice(0, -1) : text, YamlWork.ofFile());
  }
}

/** Files that a class may be in (Salt: get_class_paths). */
function pathsOf(name: string) {
  const dotted = name.replaceAll('.', '/');
  return { straight: `${name}.yml`, below: `${dotted}.yml`, init: `${dotted}/init.yml` };
}

function nameOf(path: string): string {
  return path
    .slice(0, -4)
    .replaceAll('/', '.')
    .replace(/\.init$/, '');
}

/** As Python's glob: a wildcard stays within its part and does not begin a hidden name. */
function matchPath(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const parts = path.split('/');
  if (wanted.length !== parts.length) return false;
  return wanted.every((glob, at) => {
    const part = parts[at] ?? '';
    if (!/[*?[]/.test(glob)) return glob === part;
    return (!part.startsWith('.') || glob.startsWith('.')) && matchGlob(glob, part);
  });
}

/** An empty class is one without anything; an empty node is an error, as in Salt. */
function asClass(value: SaltValue, mayBeEmpty: boolean): Dict {
  if (isDict(value)) return value;
  if (value === null && mayBeEmpty) return new Map();
  throw new SaltclassError(`'${typeName(value)}' object has no attribute 'get'`);
}

function structuredCopy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(structuredCopy);
  if (!isDict(value)) return value;
  return new Map([...value].map(([key, item]) => [key, structuredCopy(item)]));
}
