import type { SaltMap, SaltValue } from '@brine/wire';
import { pyStr } from '@brine/wire/text';
import type { Command, JobReturn } from '../command.ts';
import type { LocalClient } from '../local-client.ts';
import type { JobRecords } from './job-records.ts';

/** Makes the seals of rows on record (libs/crypt audit-seal.ts). */
export interface RowSeal {
  of(
    row: { readonly writer: string; readonly n: number; readonly body: string },
    before: string,
  ): string;
}

/** What a runner function works with. */
export interface RunnerContext {
  readonly client: LocalClient;
  readonly jobs: JobRecords;
  /** Writes to the terminal at once; does nothing without one. */
  readonly out: (text: string) => void;
  /** Derived from the master's key; rejects where that key is not readable. */
  readonly auditSeal: () => Promise<RowSeal>;
  /** The master that the runner runs in; absent at a command line. */
  readonly master?: RunnerMaster;
}

/** What a runner can ask only inside a master. */
export interface RunnerMaster {
  /** The grains that a minion sent. */
  grains(id: string): Promise<SaltMap | undefined>;
  /** The pillar for `id`, `grains`, `saltenv`, `pillarenv`, `override` and `ext`. */
  pillar(asked: SaltMap): Promise<SaltMap>;
  /** The pillar's top file for the same, or a list of what is wrong with it. */
  pillarTop(asked: SaltMap): Promise<SaltValue>;
}

/** Arguments by name, with defaults. `args` and `kwargs` have what fits no parameter. */
export interface BoundArguments {
  readonly named: ReadonlyMap<string, SaltValue>;
  readonly args: readonly SaltValue[];
  readonly kwargs: SaltMap;
}

/** A result that names its outputter (Salt: `{'data': …, 'outputter': …}`). */
export interface Shown {
  readonly value: SaltValue;
  readonly outputter?: string;
  /** Instead of a value that may be large: parts of one map, in the order of its keys. */
  readonly pages?: AsyncIterable<SaltMap>;
}

/** A function that `salt-run` can call. */
export interface RunnerFunction {
  readonly name: string;
  /** Parameters in their order; without a default they must be given. */
  readonly parameters: readonly (readonly [name: string, preset?: SaltValue])[];
  /** Takes any further arguments and keywords. */
  readonly open?: true;
  /** Runs in a master only; the command line sends it there. */
  readonly inMaster?: true;
  readonly doc: string;
  run(given: BoundArguments, context: RunnerContext): Promise<Shown>;
}

/** Arguments that do not fit, in Python's words. */
export class InvalidArgumentsError extends Error {
  constructor(text: string) {
    super(text);
    this.name = 'InvalidArgumentsError';
  }
}

/** A keyword that the function does not have. Salt then shows the functions that there are. */
export class UnknownKeywordError extends Error {
  constructor(text: string) {
    super(text);
    this.name = 'UnknownKeywordError';
  }
}

/** Arguments as they are given to a function. */
export interface GivenArguments {
  readonly args: readonly SaltValue[];
  readonly kwargs: SaltMap;
}

/** Arguments as a command line has them: keywords stand in maps with `__kwarg__` among the rest. */
export function splitKeywords(words: readonly SaltValue[]): GivenArguments {
  const args: SaltValue[] = [];
  const kwargs: SaltMap = new Map();
  for (const word of words) {
    if (!(word instanceof Map) || word.get('__kwarg__') !== true) args.push(word);
    else for (const [key, value] of word) if (key !== '__kwarg__') kwargs.set(key, value);
  }
  return { args, kwargs };
}

/**
 * Puts arguments to parameters as Python does.
 * @throws InvalidArgumentsError UnknownKeywordError
 */
export function bindArguments(fun: RunnerFunction, given: GivenArguments): BoundArguments {
  const { args: positional, kwargs: keywords } = given;
  if (fun.open === true) return { named: new Map(), args: positional, kwargs: keywords };
  const names = fun.parameters.map(([name]) => name);
  const unknown = [...keywords].filter(([key]) => typeof key !== 'string' || !names.includes(key));
  if (unknown.length > 0) {
    const shown = unknown.map(([key, value]) => `${pyStr(key)}=${pyStr(value)}`).join(', ');
    throw new UnknownKeywordError(`The following keyword arguments are not valid: ${shown}`);
  }
  const short = fun.name.split('.').at(-1) ?? fun.name;
  checkCount(short, fun, positional.length);
  const named = new Map<string, SaltValue>();
  const missing: string[] = [];
  fun.parameters.forEach(([name, preset], at) => {
    const value = positional[at];
    const keyword = keywords.get(name);
    if (value !== undefined && keyword !== undefined) {
      throw new InvalidArgumentsError(`${short}() got multiple values for argument '${name}'`);
    }
    const found = value ?? keyword ?? preset;
    if (found === undefined) missing.push(name);
    else named.set(name, found);
  });
  if (missing.length > 0) throw new InvalidArgumentsError(missingText(short, missing));
  return { named, args: [], kwargs: new Map() };
}

function checkCount(short: string, fun: RunnerFunction, count: number): void {
  const most = fun.parameters.length;
  if (count <= most) return;
  const least = fun.parameters.filter(([, preset]) => preset === undefined).length;
  const range = least === most ? String(most) : `from ${least} to ${most}`;
  const plural = most === 1 && least === most ? '' : 's';
  const were = count === 1 ? 'was' : 'were';
  throw new InvalidArgumentsError(
    `${short}() takes ${range} positional argument${plural} but ${count} ${were} given`,
  );
}

function missingText(short: string, names: readonly string[]): string {
  const quoted = names.map((name) => `'${name}'`);
  const last = quoted.pop() ?? '';
  const comma = quoted.length > 1 ? ',' : '';
  const list = quoted.length === 0 ? last : `${quoted.join(', ')}${comma} and ${last}`;
  const plural = names.length === 1 ? '' : 's';
  return `${short}() missing ${names.length} required positional argument${plural}: ${list}`;
}

/** Publishes a command and gathers its returns; undefined if no minion matched. */
export async function runOnMinions(
  client: LocalClient,
  command: Command,
  timeoutMs?: number,
): Promise<readonly JobReturn[] | undefined> {
  const job = await client.publish(command, { listen: true });
  if (job === undefined) return undefined;
  const found: JobReturn[] = [];
  const options = timeoutMs === undefined ? {} : { timeoutMs };
  for await (const item of client.returns(job, options)) found.push(item);
  return found;
}
