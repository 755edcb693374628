import { parseArgs } from 'node:util';
import { type Option, UsageError } from './option.ts';

/** The options of a tool by their names: `allEvery` is `--all-every`. */
export type Options = Readonly<Record<string, Option<unknown>>>;

/** The values of a command line by option. */
export type Given<T extends Options> = {
  readonly [K in keyof T]: T[K] extends Option<infer V> ? V : never;
};

/** Reads a command line with only options. Throws UsageError for unknown and invalid arguments. */
export function readOptions<T extends Options>(args: readonly string[], options: T): Given<T> {
  const { asked, words } = readArguments(args, options);
  const [first] = words;
  if (first !== undefined) throw new UsageError(`unknown argument: ${first}`);
  return asked;
}

/** Reads options and other arguments. Throws UsageError for unknown and invalid options. */
export function readArguments<T extends Options>(
  args: readonly string[],
  options: T,
): { readonly asked: Given<T>; readonly words: readonly string[] } {
  const { values, positionals } = parse(args, options);
  const read = Object.entries(options).map(([key, option]) => {
    const name = nameOf(key);
    const given = [values[name] ?? []].flat().map(String);
    return [key, option.read(given, `--${name}`)] as const;
  });
  // Each value was read by its option.
  return { asked: Object.fromEntries(read) as Given<T>, words: positionals };
}

function parse(args: readonly string[], options: Options) {
  const table = Object.entries(options).map(([key, { value, short }]) => {
    const type = value === '' ? ('boolean' as const) : ('string' as const);
    return [nameOf(key), { type, multiple: true, ...(short === undefined ? {} : { short }) }];
  });
  try {
    const known = Object.fromEntries(table) as Record<string, { type: 'string' | 'boolean' }>;
    return parseArgs({ args: [...args], options: known, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

/** The lines of a usage text for these options. */
export function drawOptions(options: Options): string {
  const lines = Object.entries(options).map(([key, { value, help, short, otherwise }]) => {
    const name = `${short === undefined ? '' : `-${short}, `}--${nameOf(key)} ${value}`.trimEnd();
    return [name, `${help}${otherwise === undefined ? '' : ` (${otherwise})`}`] as const;
  });
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines.map(([name, help]) => `  ${name.padEnd(width)}  ${help}\n`).join('');
}

function nameOf(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
