import { execFile } from 'node:child_process';
import { type ConfigMap, type ConfigValue, isConfigMap, parseConfigText } from '@brine/config';
import { textsOf } from '@brine/config';
import { childEnvironment } from '@brine/environment';
import type { ExternalTops } from '@brine/master';
import { Gate } from '@brine/tasks';
import type { SaltMap } from '@brine/wire';
import { DEFAULT_CLASS_TREE } from './sources/class-tree.ts';

/** Longest run of a classifier. A minion waits 60 s for its answer. */
const TIMEOUT_MS = 30_000;
const OUTPUT_MAX_BYTES = 4 * 1024 * 1024;
/** Classifiers that run at once; others wait. */
const RUNNING_MAX = 8;

/** Logs a line for the operator. */
type LogLine = (fields: Readonly<Record<string, unknown>>, text: string) => void;

/** States by environment. */
type States = ReadonlyMap<string, readonly string[]>;

/** Reads the saltclass tree of a directory for a minion. Rejects with the fault of the tree. */
type ReadClasses = (path: string, minion: string) => Promise<SaltMap>;

/** Calls one of the site's tops in Python, by its name. Rejects with its fault. */
type ReadTop = (name: string, minion: string) => Promise<SaltMap>;

/**
 * `master_tops`: states of a minion beside its top file. Of Salt's kinds `ext_nodes` and
 * `saltclass` are built in; the others need Python.
 */
export class MasterTops implements ExternalTops {
  readonly #command: readonly string[] | undefined;
  readonly #classTree: string | undefined;
  readonly #readClasses: ReadClasses;
  readonly #log: LogLine;
  readonly #others: readonly string[];
  readonly #readTop: ReadTop | undefined;
  readonly #flights = new Map<string, Promise<States>>();
  readonly #gate = new Gate(RUNNING_MAX);

  constructor(masterTops: ConfigMap, readClasses: ReadClasses, log: LogLine, readTop?: ReadTop) {
    this.#log = log;
    this.#readTop = readTop;
    this.#readClasses = readClasses;
    const { ext_nodes: command, saltclass, ...others } = masterTops;
    const path = isConfigMap(saltclass) ? (saltclass['path'] ?? DEFAULT_CLASS_TREE) : undefined;
    if (typeof path === 'string') this.#classTree = path;
    if (typeof command === 'string' && command.trim() !== '') this.#command = splitWords(command);
    this.#others = Object.keys(others);
    if (readTop !== undefined) return;
    for (const name of this.#others) {
      log({ name }, 'this kind of master_tops is not served; set brine.python to use that of Salt');
    }
  }

  /** States by environment. A source that fails gives none, and the failure is logged. */
  of(minion: string): Promise<States> {
    // Overlapping calls share one answer.
    const flying = this.#flights.get(minion);
    if (flying !== undefined) return flying;
    const flight = this.#all(minion).finally(() => this.#flights.delete(minion));
    this.#flights.set(minion, flight);
    return flight;
  }

  async #all(minion: string): Promise<States> {
    const all = new Map<string, readonly string[]>();
    if (this.#command !== undefined) addStates(all, await this.#classify(this.#command, minion));
    const tree = this.#classTree;
    if (tree !== undefined) {
      addStates(all, await this.#read('saltclass', minion, this.#readClasses(tree, minion)));
    }
    const readTop = this.#readTop;
    if (readTop === undefined) return all;
    for (const name of this.#others) {
      addStates(all, await this.#read(name, minion, readTop(name, minion)));
    }
    return all;
  }

  async #read(kind: string, minion: string, reading: Promise<SaltMap>): Promise<States> {
    try {
      const named = [...(await reading)].filter(([env]) => typeof env === 'string');
      return new Map(named.map(([env, states]) => [env as string, textsIn(states)]));
    } catch (err) {
      this.#log({ err, minion }, `${kind} failed, a minion gets no states from it`);
      return new Map();
    }
  }

  async #classify(command: readonly string[], minion: string): Promise<States> {
    try {
      return classesOf(await this.#gate.run(() => runCommand([...command, minion])));
    } catch (err) {
      this.#log({ err, minion }, 'ext_nodes failed, a minion gets no states from it');
      return new Map();
    }
  }
}

/** Adds missing states to the lists (Salt: dictupdate.merge with merge_lists). */
function addStates(all: Map<string, readonly string[]>, more: States): void {
  for (const [env, states] of more) {
    const known = all.get(env) ?? [];
    all.set(env, [...known, ...states.filter((state) => !known.includes(state))]);
  }
}

function textsIn(states: unknown): string[] {
  return Array.isArray(states) ? states.filter((state) => typeof state === 'string') : [];
}

function runCommand([file = '', ...args]: readonly string[]): Promise<string> {
  const env = childEnvironment(process.env);
  const options = { env, timeout: TIMEOUT_MS, maxBuffer: OUTPUT_MAX_BYTES };
  return new Promise((resolve, reject) => {
    execFile(file, args, options, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${file} failed: ${error.message}`, { cause: error }));
    });
  });
}

/** `classes`, a list or the keys of a map, in `environment` (salt/tops/ext_nodes.py). */
function classesOf(yaml: string): States {
  const { values } = parseConfigText(yaml, 'the output of ext_nodes');
  const classes: ConfigValue | undefined = values['classes'];
  const names =
    typeof classes === 'object' && classes !== null && !Array.isArray(classes)
      ? Object.keys(classes)
      : Array.isArray(classes)
        ? textsOf(classes)
        : undefined;
  const environment = values['environment'];
  if (names === undefined) return new Map();
  return new Map([[typeof environment === 'string' ? environment : 'base', names]]);
}

/** Splits a command line as a POSIX shell does, with quotes and backslashes. */
export function splitWords(line: string): string[] {
  const words: string[] = [];
  const part = /\s+|"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'|\\([\s\S])|([^\s"'\\]+)/g;
  let word: string | undefined;
  for (const [all, double, single, escaped, plain] of line.matchAll(part)) {
    const piece = double?.replace(/\\(["\\$`])/g, '$1') ?? single ?? escaped ?? plain;
    if (piece !== undefined) word = (word ?? '') + piece;
    else if (word !== undefined && all.trim() === '') {
      words.push(word);
      word = undefined;
    }
  }
  return word === undefined ? words : [...words, word];
}
