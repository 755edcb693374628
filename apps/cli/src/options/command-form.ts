/** The form of a command for its option parser. */
export interface CommandForm {
  /** `salt`, `salt-key`, …, for usage and error lines. */
  readonly prog: string;
  /** Text behind the name in the usage line. */
  readonly usage: string;
  readonly description: string;
  readonly version: string;
  readonly groups: readonly OptionGroup[];
}

/** One option of a command, as in Python's optparse. */
export interface Option {
  /** `-t`, `--timeout`; error texts use the first long name. */
  readonly names: readonly string[];
  /** The name of its value. */
  readonly dest: string;
  /** `off` is a flag that turns a default off, `list` a text that may be repeated. */
  readonly kind:
    'flag' | 'off' | 'text' | 'list' | 'int' | 'float' | 'choice' | 'help' | 'version' | 'report';
  readonly choices?: readonly string[];
  readonly default?: OptionValue;
  readonly metavar?: string;
  readonly help: string;
  /** The alternative to an option that is accepted for compatibility without effect. */
  readonly instead?: string;
}

/** The value of an option; undefined if it was not given and has no default. */
export type OptionValue = string | number | boolean | readonly string[] | undefined;

/** Options under a heading of the help page. */
export interface OptionGroup {
  readonly title: string;
  readonly options: readonly Option[];
}

/** A parsed command line. */
export interface ParsedOptions {
  readonly values: ReadonlyMap<string, OptionValue>;
  /** Names of values set by the command line, not by defaults. */
  readonly given: ReadonlySet<string>;
  readonly args: readonly string[];
  /** A line for each option that was given and has no effect. */
  readonly ineffective: readonly string[];
}

/** A flag. */
export function flag(names: readonly string[], dest: string, help: string): Option {
  return { names, dest, kind: 'flag', default: false, help };
}

/** An option with a text. */
export function text(
  names: readonly string[],
  dest: string,
  help: string,
  preset?: string,
): Option {
  const option: Option = { names, dest, kind: 'text', help };
  return preset === undefined ? option : { ...option, default: preset };
}

/** An option that is accepted for compatibility. The command warns that it has no effect. */
export function withoutEffect(option: Option, instead: string): Option {
  return { ...option, help: `Without effect: ${instead}.`, instead };
}

/** The text of an option, undefined if it is no text or empty. */
export function textValue(options: ParsedOptions, dest: string): string | undefined {
  const value = options.values.get(dest);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The texts of a `list` option, undefined if it was not given. */
export function listValue(options: ParsedOptions, dest: string): readonly string[] | undefined {
  const value = options.values.get(dest);
  return Array.isArray(value) ? value : undefined;
}

/** The number of an option. */
export function numberValue(options: ParsedOptions, dest: string): number | undefined {
  const value = options.values.get(dest);
  return typeof value === 'number' ? value : undefined;
}

/** True if the option is on. */
export function isOn(options: ParsedOptions, dest: string): boolean {
  return options.values.get(dest) === true;
}
