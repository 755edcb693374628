import { parseConfigText, type ConfigMap, type ConfigValue } from '@brine/config';
import type { ExternalTops } from '@brine/master';
import { execFile } from 'node:child_process';
import { textsOf } from './option-values.ts';

/** Longest run of a classifier; the minion waits for its answer 60 s. */
const TIMEOUT_MS = 30_000;
const OUTPUT_MAX_BYTES = 4 * 1024 * 1024;
/** Classifiers that run at once; others wait. */
const RUNNING_MAX = 8;

/** Tells an operator. */
type Tell = (fields: Readonly<Record<string, unknown>>, text: string) => void;

/** `master_tops`: what states a minion has beside its top file. Of Salt's kinds `ext_nodes`. */
export class MasterTops implements ExternalTops {
  readonly #command: readonly string[] | undefined;
  readonly #tell: Tell;
  readonly #flights = new Map<string, Promise<ReadonlyMap<string, readonly string[]>>>();
  #running: Promise<unknown>[] = [];

  constructor(masterTops: ConfigMap, tell: Tell) {
    this.#tell = tell;
    const { ext_nodes: command, ...others } = masterTops;
    if (typeof command === 'string' && command.trim() !== '') this.#command = splitWords(command);
    for (const name of Object.keys(others))
      tell({ name }, 'this kind of master_tops is not served');
  }

  /** States by environment. What fails gives none, and is told. */
  of(minion: string): Promise<ReadonlyMap<string, readonly string[]>> {
    const command = this.#command;
    if (command === undefined) return Promise.resolve(new Map());
    // Those who ask again meanwhile get the same answer.
    const flying = this.#flights.get(minion);
    if (flying !== undefined) return flying;
    const flight = this.#classify(command, minion).finally(() => this.#flights.delete(minion));
    this.#flights.set(minion, flight);
    return flight;
  }

  async #classify(
    command: readonly string[],
    minion: string,
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    while (this.#running.length >= RUNNING_MAX) await Promise.race(this.#running);
    const run = runCommand([...command, minion]);
    const settled = run.then(
      () => undefined,
      () => undefined,
    );
    this.#running.push(settled);
    try {
      return classesOf(await run);
    } catch (err) {
      this.#tell({ err, minion }, 'ext_nodes could not tell the states of a minion');
      return new Map();
    } finally {
      this.#running = this.#running.filter((one) => one !== settled);
    }
  }
}

function runCommand([file = '', ...args]: readonly string[]): Promise<string> {
  const options = { timeout: TIMEOUT_MS, maxBuffer: OUTPUT_MAX_BYTES };
  return new Promise((resolve, reject) => {
    execFile(file, args, options, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${file} failed: ${error.message}`, { cause: error }));
    });
  });
}

/** `classes`, a list or the keys of a map, in `environment` (salt/tops/ext_nodes.py). */
function classesOf(yaml: string): ReadonlyMap<string, readonly string[]> {
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

/** The words of a command line as a POSIX shell splits them, quotes and backslashes heeded. */
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
