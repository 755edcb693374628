import { parseArgs } from 'node:util';

/** Thrown for arguments that do not fit; the message is for the user. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Seeds have 32 bits, because the generator ignores more. */
export const MAX_SEED = 2 ** 31 - 1;

/** Bounds of a number, and what it is where it is not named. */
export type Range = readonly [least: number, most: number, otherwise: number];

type Options = Readonly<
  Record<string, { readonly type: 'string' | 'boolean'; readonly short?: string }>
>;

/** What each option was given, and what is no option. */
type Given<T extends Options> = ReturnType<
  typeof parseArgs<{ args: string[]; options: T; strict: true; allowPositionals: true }>
>;

/**
 * The options of a command line; other arguments only where the command takes some. Throws
 * UsageError for what is none of them.
 */
export function readOptions<const T extends Options>(
  args: readonly string[],
  options: T,
  takes: 'options' | 'arguments too' = 'options',
): Given<T> {
  try {
    const given = parseArgs({ args: [...args], options, strict: true, allowPositionals: true });
    const [first] = given.positionals;
    if (takes === 'options' && first !== undefined) throw new Error(`unknown argument: ${first}`);
    return given;
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

/** Reads a number. Throws UsageError where it is none, or out of its range. */
export function wholeNumber(name: string, text: string | undefined, range: Range): number {
  const [least, most, otherwise] = range;
  if (text === undefined) return otherwise;
  const number = Number(text);
  if (!Number.isInteger(number) || number < least || number > most) {
    throw new UsageError(`--${name} is a whole number from ${least} to ${most}`);
  }
  return number;
}
