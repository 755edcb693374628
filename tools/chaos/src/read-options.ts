import { parseArgs } from 'node:util';

/** Thrown for arguments that do not fit; the message is for the user. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Seeds are what 32 bits hold: more would be the same to the generator. */
export const MAX_SEED = 2 ** 31 - 1;

/** Bounds of a number, and what it is where it is not named. */
export type Range = readonly [least: number, most: number, otherwise: number];

type Options = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>;

/** What each option was given; undefined where it was not. */
type Given<T extends Options> = ReturnType<
  typeof parseArgs<{ args: string[]; options: T; strict: true }>
>['values'];

/** The values of the options of a command line. Throws UsageError for what is none of them. */
export function readOptions<const T extends Options>(
  args: readonly string[],
  options: T,
): Given<T> {
  try {
    return parseArgs({ args: [...args], options, strict: true }).values;
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
