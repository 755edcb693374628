/** A value as YAML gives it, after Salt's own rules for plain scalars. */
export type ConfigValue =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | readonly ConfigValue[]
  | { readonly [key: string]: ConfigValue };

/** A map of a configuration file. It has no prototype, so that no key is special. */
export type ConfigMap = Readonly<Record<string, ConfigValue>>;

/** The result of a value that does not fit an option: describes the expected value. */
export class Misfit {
  readonly expected: string;
  constructor(expected: string) {
    this.expected = expected;
  }
}

/** A value that is accepted although it has another type than the option. */
export class Odd<T> {
  readonly value: T;
  /** The text of the warning after name and position of the option. */
  readonly meaning: string;
  constructor(value: T, meaning: string) {
    this.value = value;
    this.meaning = meaning;
  }
}

/** One option: default, unit, meaning and check. */
export interface Option<T> {
  /** Name of the type, for the reference table. */
  readonly type: string;
  readonly default: T;
  readonly doc: string;
  /** Unit of a number, for example `s` or `bytes`. */
  readonly unit?: string;
  /** Environment variable that overrides the file, if any. */
  readonly env?: string;
  /** True if `root_dir` is put before a relative path (Salt: salt/config prepend_root_dir). */
  readonly underRoot?: boolean;
  readonly read: (value: ConfigValue) => T | Odd<T> | Misfit;
}

/** Options by the name they have in the file; a nested table is a map in the file. */
export interface OptionTable {
  readonly [name: string]: Option<unknown> | OptionTable;
}

/** `publish_port` becomes `publishPort`. */
export type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S;

/** The values of a table, with camelCase names. */
export type OptionValues<T> = {
  readonly [K in keyof T & string as CamelCase<K>]: T[K] extends Option<infer V>
    ? V
    : OptionValues<T[K]>;
};

/** True for an option, false for a nested table. */
export function isOption(entry: Option<unknown> | OptionTable): entry is Option<unknown> {
  return typeof entry['read'] === 'function';
}

/** True for a map. */
export function isConfigMap(value: ConfigValue | undefined): value is ConfigMap {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Uint8Array)
  );
}

/** True for a list. */
export function isList(value: ConfigValue | undefined): value is readonly ConfigValue[] {
  return Array.isArray(value);
}

/** `publish_port` becomes `publishPort`; the same rule as the type CamelCase. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
