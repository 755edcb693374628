/** Thrown for invalid arguments; the message is for the user. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** One option of a tool: its usage, and its parser. */
export interface Option<V> {
  /** Shown behind the name, as `<n>`; empty for an option without a value. */
  readonly value: string;
  readonly help: string;
  readonly short: string | undefined;
  /** Shown in parentheses behind the help. */
  readonly otherwise: string | undefined;
  /** Parses all given values; throws UsageError. */
  readonly read: (given: readonly string[], flag: string) => V;
}

/** Least and most of a number, and its default. */
type Range = readonly [least: number, most: number, otherwise?: number];

/** Seeds have 32 bits, because the generator ignores more. */
export const MAX_SEED = 2 ** 31 - 1;

/** True if it is given. */
export function flag(help: string): Option<boolean> {
  return optionOf('', help, (given) => given.length > 0);
}

/** Any text; `value` is its name in the usage. */
export function text(value: string, help: string): Option<string | undefined>;
export function text(value: string, help: string, otherwise: string): Option<string>;
export function text(value: string, help: string, otherwise?: string): Option<string | undefined> {
  return optionOf(value, help, (given) => given.at(-1) ?? otherwise, otherwise);
}

/** A text for each time that it is given. */
export function texts(value: string, help: string): Option<readonly string[]> {
  return optionOf(value, help, (given) => given);
}

/** Names from a list, separated by commas; by default all. */
export function names<K extends string>(
  value: string,
  help: string,
  known: readonly K[],
  otherwise: readonly K[] = known,
): Option<readonly K[]> {
  return optionOf(value, `${help} ${known.join(', ')}`, (given, name) => {
    const asked = (given.at(-1) ?? '').split(',').filter((one) => one !== '');
    return asked.length === 0 ? otherwise : asked.map((one) => knownAs(one, name, known));
  });
}

/** One name of a few; the first is the default. */
export function oneOf<K extends string | number>(
  help: string,
  known: readonly [K, ...K[]],
): Option<K> {
  const otherwise = String(known[0]);
  const read = (given: readonly string[], name: string): K =>
    knownAs(given.at(-1) ?? otherwise, name, known);
  return optionOf(`<${known.join('|')}>`, help, read, otherwise);
}

/** A whole number. */
export function whole(value: string, help: string, range: Required<Range>): Option<number>;
export function whole(value: string, help: string, range: Range): Option<number | undefined>;
export function whole(value: string, help: string, range: Range): Option<number | undefined> {
  return numberOf('a whole number', Number.isInteger, value, help, range);
}

/** A number, also with a fraction. */
export function decimal(value: string, help: string, range: Required<Range>): Option<number>;
export function decimal(value: string, help: string, range: Range): Option<number | undefined>;
export function decimal(value: string, help: string, range: Range): Option<number | undefined> {
  return numberOf('a number', Number.isFinite, value, help, range);
}

/** The seed of random numbers; random by default. */
export function seed(help: string): Option<number> {
  const { read } = whole('<n>', help, [0, MAX_SEED]);
  const drawn = (): number => Math.floor(Math.random() * MAX_SEED);
  return optionOf('<n>', help, (given, name) => read(given, name) ?? drawn(), 'any');
}

/** Adds a one-letter name to an option. */
export function short<V>(letter: string, option: Option<V>): Option<V> {
  return { ...option, short: letter };
}

function optionOf<V>(
  value: string,
  help: string,
  read: Option<V>['read'],
  otherwise?: string,
): Option<V> {
  return { value, help, short: undefined, otherwise, read };
}

function numberOf(
  kind: string,
  isKind: (value: number) => boolean,
  value: string,
  help: string,
  [least, most, otherwise]: Range,
): Option<number | undefined> {
  return optionOf(
    value,
    help,
    (given, name) => {
      const last = given.at(-1);
      if (last === undefined) return otherwise;
      const read = last.trim() === '' ? Number.NaN : Number(last);
      if (isKind(read) && read >= least && read <= most) return read;
      throw new UsageError(`${name} is ${kind} from ${least} to ${most}, not ${last}`);
    },
    otherwise?.toString(),
  );
}

function knownAs<K extends string | number>(one: string, name: string, known: readonly K[]): K {
  const found = known.find((each) => String(each) === one);
  if (found !== undefined) return found;
  throw new UsageError(`${name} has no ${one} (there are ${known.join(', ')})`);
}
